import { mkdtempSync } from "node:fs"
import { rm } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { Clock, Effect, Option, type Scope } from "effect"
import { iso } from "../../../src/domain/Instant.ts"
import type { OpenedAccount } from "../../../src/providers/ProviderModule.ts"
import { MemoryOf, processMemory } from "../../../src/providers/SharedMemory.ts"
import type { Adapter, RawCallback } from "../../../src/services/ports/Provider.ts"
import { openAccount } from "../../../src/simulator/Account.ts"
import type { CallLog } from "../../../src/simulator/CallLog.ts"
import type { Ending } from "../../../src/simulator/Endings.ts"
import type { Execution, Fact, SimulatedTransaction } from "../../../src/simulator/Facts.ts"
import { takenBackFacts } from "../../../src/simulator/Movements.ts"
import { openPorts } from "../../../src/simulator/Ports.ts"
import { openProviderServer } from "../../../src/simulator/ProviderServer.ts"
import { makeScheduler } from "../../../src/simulator/Scheduler.ts"
import type { KnownSimulator } from "../../../src/simulator/SimulatorModule.ts"
import { payoutsOf } from "../../../test/providers/contract/Fixture.ts"
import { type Abilities, payoutOrder } from "../../../test/providers/contract/Orders.ts"
import { databaseFolder } from "../../../test/support/DatabaseFolder.ts"
import { listening } from "../../../test/support/ListeningServer.ts"
import { offBy } from "../../../test/support/WrongClock.ts"
import { type HostileLine, openHostileLine } from "../HostileLine.ts"

/** How long after it took something a provider settles it. */
export const SETTLING_MS = 2_000
const PATIENCE_MS = 15_000
/** More than a page of any provider's list. */
export const PAID_BY_HAND = 105
/** Settled, called back, sent back, and called back of that. */
const STEPS_AT_MOST = 10

/** A provider on the story's clock, or an hour ahead of it, behind a line, and all that it ever did. */
export interface Outside {
  readonly name: string
  readonly line: HostileLine
  /** Another gateway's account there; over the line where an address of its is given. */
  readonly open: (address?: string) => Effect.Effect<Adapter, never, Scope.Scope>
  /** What is due there by now has happened. */
  readonly settled: Effect.Effect<void>
  /** Its callbacks, in the order in which they left. Whoever takes one takes it away. */
  readonly callbacks: Array<RawCallback>
  readonly transactions: (reference: string) => ReadonlyArray<SimulatedTransaction>
  readonly executions: (reference: string) => ReadonlyArray<Execution>
  /** It changes its mind: what failed was executed after all, or what was executed is undone, and it calls back about that. */
  readonly turn: (transaction: SimulatedTransaction) => Effect.Effect<void>
  /** If it fails it, then in words that it may correct; nothing where that is decided, or where it has no such words. */
  readonly waver: (transaction: SimulatedTransaction) => Effect.Effect<void>
  /** Somebody takes it back there, without a callback. */
  readonly takeBack: (transaction: SimulatedTransaction) => Effect.Effect<void>
  /** It calls back, authentically, and says the contrary of what is so; that it succeeded where nothing is so yet. */
  readonly contradict: (transaction: SimulatedTransaction) => Effect.Effect<void>
  /** How the next exchange ends. */
  readonly chooseExchange: (ending: Ending) => void
  /** Somebody pays so many others by hand there: the account lists more than what the gateway ordered, page by page. */
  readonly payByHand: (payout: SimulatedTransaction, count: number) => Effect.Effect<void>
}

export const openOutside = Effect.fnUntraced(function* (
  known: KnownSimulator,
  aheadMs: number
): Effect.fn.Return<Outside, never, Scope.Scope> {
  const dataDir = mkdtempSync(join(databaseFolder(), "hostile-"))
  yield* Effect.addFinalizer(() => Effect.promise(() => rm(dataDir, { recursive: true, force: true })))
  const clock = offBy(yield* Clock.Clock, aheadMs)
  const simulator = known.simulated(known.accounts({ baseUrl: "", timeoutMs: PATIENCE_MS }))
  const providers = [simulator]
  // All of its adapters are one gateway's.
  const memory = processMemory()
  const accountsAt = (baseUrl: string) =>
    Effect.provideService(known.accounts({ baseUrl, timeoutMs: PATIENCE_MS }).open, MemoryOf, memory)
  const { callbacks } = liveOf(yield* accountsAt(NOBODY))
  const received = yield* receiver(answersTo(callbacks, yield* Clock.Clock))
  const { account, scheduler, server } = yield* Effect.gen(function* () {
    const account = yield* openAccount(dataDir)
    const scheduler = yield* makeScheduler({ account, providers, delayMs: SETTLING_MS })
    const ports = yield* openPorts(dataDir)
    const setting = { host: "127.0.0.1", delayMs: SETTLING_MS, account, calls: noCalls, ports, scheduler }
    const server = yield* openProviderServer(simulator, setting)
    yield* server.setCallbackAddress(received.url, undefined)
    return { account, scheduler, server }
  }).pipe(Effect.provideService(Clock.Clock, clock))
  const line = yield* openHostileLine(server.baseUrl)
  const open: Outside["open"] = (address = line.baseUrl) => Effect.map(accountsAt(address), liveOf)
  // Its callbacks leave by its own clock, whoever's clock is in the fiber that makes it call back.
  const commit = (facts: ReadonlyArray<Fact>) => Effect.provideService(scheduler.commit(facts), Clock.Clock, clock)
  return {
    name: known.name,
    line,
    open,
    settled: Effect.gen(function* () {
      for (let step = 0; step < STEPS_AT_MOST; step++) {
        const now = clock.currentTimeMillisUnsafe()
        if (!account.jobs().some(({ at }) => at <= now)) return
        yield* scheduler.flush
      }
    }).pipe(Effect.provideService(Clock.Clock, clock)),
    callbacks: received.all,
    transactions: (reference) => server.accounts.flatMap((one) => account.byReference(known.name, one, reference)),
    executions: account.executions,
    turn: (transaction) => commit(turned(simulator.callback, transaction, clock.currentTimeMillisUnsafe())),
    waver: (open) => {
      const detail = { ...open.detail, ...wavering[known.name] }
      return open.status === "pending" ? commit([{ fact: "transaction", transaction: { ...open, detail } }]) : Effect.void
    },
    takeBack: (transaction) => commit(takenBackFacts(transaction, clock.currentTimeMillisUnsafe())),
    contradict: (transaction) => {
      const now = clock.currentTimeMillisUnsafe()
      const said = { ...transaction, status: transaction.status === "successful" ? "failed" : "successful" } as const
      return commit(calledBack(simulator.callback, said, "contradicts", now))
    },
    chooseExchange: (ending) => server.chooseNext("exchange", ending),
    payByHand: (payout, count) => account.commit(Array.from({ length: count }, (_, number) => byHand(payout, number)).flat())
  }
})

/** By their documents what fails so is to be looked at once more. */
const wavering: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  mtn: { reason: "INTERNAL_PROCESSING_ERROR" },
  pawapay: { failureCode: "UNKNOWN_ERROR" }
}

/** Whether its provider failed it so. */
export const wavers = ({ detail, provider }: SimulatedTransaction): boolean =>
  Object.entries(wavering[provider] ?? {}).some(([member, word]) => detail[member] === word)

/** Nobody reads them, and each would be written to a file. */
const noCalls: CallLog = { record: () => Effect.void, list: () => [] }

/** Pages of payouts that the gateway knows nothing of. `settles`: the provider has time for the first one. */
export const paidByHand = Effect.fnUntraced(function* (
  outside: Outside,
  honest: Adapter,
  { payouts: [way] }: Abilities,
  settles: Effect.Effect<void>
): Effect.fn.Return<void> {
  if (way === undefined) return
  const order = yield* Effect.orDie(payoutOrder(payoutsOf(honest), way, "1234"))
  yield* payoutsOf(honest).send(order)
  yield* settles
  for (const paid of outside.transactions(order.reference)) yield* outside.payByHand(paid, PAID_BY_HAND - 1)
})

/** The same again, to nobody whom the gateway knows. */
const byHand = (payout: SimulatedTransaction, number: number): ReadonlyArray<Fact> => {
  const reference = `by hand ${number}`
  const detail = { ...payout.detail, reference }
  const transaction: SimulatedTransaction = { ...payout, id: numbered(payout.id, number), reference, detail }
  return [
    { fact: "transaction", transaction },
    { fact: "execution", execution: executionOf(transaction, "payout", payout.updatedAt) }
  ]
}

/** Another identifier of the same form. */
const numbered = (id: string, number: number): string => {
  const [, prefix = "", digits = ""] = /^(\D*)(\d{5,})$/.exec(id) ?? []
  return digits === ""
    ? `${id.slice(0, -4)}${String(number).padStart(4, "0")}`
    : `${prefix}${BigInt(digits) + BigInt(number) + 1n}`
}

type WriteCallback = ReturnType<KnownSimulator["simulated"]>["callback"]

const turned = (callback: WriteCallback, before: SimulatedTransaction, now: number): ReadonlyArray<Fact> => {
  const { kind } = before
  const status = before.status === "successful" ? "failed" : "successful"
  const after: SimulatedTransaction = { ...before, status, updatedAt: now, reason: status === "failed" ? "Reversed" : null }
  return [
    { fact: "transaction", transaction: after },
    { fact: "execution", execution: executionOf(after, status === "successful" ? kind : "return", now) },
    ...calledBack(callback, after, "turned", now)
  ]
}

const executionOf = (
  { amount, currency, id, provider, reference }: SimulatedTransaction,
  direction: Execution["direction"],
  now: number
): Execution => ({
  provider,
  direction,
  reference: id,
  client_reference: reference,
  amount_minor: Number(amount),
  currency,
  status: "successful",
  at: iso(now)
})

/** Nothing where the provider calls nobody back about it. */
const calledBack = (callback: WriteCallback, told: SimulatedTransaction, name: string, now: number): ReadonlyArray<Fact> => {
  const { account, id, provider, status } = told
  const body = callback(told, { says: status, when: "after_settlement", signature: "genuine" }, now)
  if (body === null) return []
  const work = { kind: "callbacks", attempt: 0, callbacks: [body] } as const
  return [{ fact: "job", job: { id: `${provider}/${id}/${name}`, at: now, provider, account, work } }]
}

/** Where nobody listens. */
export const NOBODY = "http://127.0.0.1:1"

const liveOf = (opened: ReadonlyArray<OpenedAccount>): Adapter =>
  Option.getOrThrow(Option.fromUndefinedOr(opened.find(({ adapter }) => adapter.mode === "live")?.adapter))

/** Keeps the answer to a question as the node that it comes to does: another one may wait for it. False of a callback about a payment. */
const answersTo =
  ({ keep, verify }: Adapter["callbacks"], clock: Clock.Clock) =>
  async (callback: RawCallback): Promise<boolean> => {
    const isAnswer = Option.exists(verify(callback), (hint) => hint.isAnswer === true)
    if (isAnswer && keep !== undefined) await Effect.runPromise(Effect.provideService(keep(callback), Clock.Clock, clock))
    return isAnswer
  }

const receiver = Effect.fnUntraced(function* (answers: (callback: RawCallback) => Promise<boolean>) {
  const all: Array<RawCallback> = []
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      const callback = { method: request.method ?? "", path: request.url ?? "", headers, body: Buffer.concat(chunks) }
      void answers(callback).then((isAnswer) => {
        if (!isAnswer) all.push(callback)
        response.writeHead(200).end()
      })
    })
  })
  return { all, url: `http://127.0.0.1:${yield* listening(server)}/callbacks` }
})
