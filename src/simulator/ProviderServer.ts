import { Clock, Effect, type Scope } from "effect"
import type { Account } from "./Account.ts"
import { callbackAddress } from "./Callbacks.ts"
import type { CallLog } from "./CallLog.ts"
import { type Ending, playOf } from "./Endings.ts"
import { type Fact, type SimulatedTransaction } from "./Facts.ts"
import { makeListener } from "./Listener.ts"
import { completionFacts, earlyJob, openingFacts } from "./Movements.ts"
import { returnOrder } from "./Orders.ts"
import type { Ports } from "./Ports.ts"
import type { Scheduler } from "./Scheduler.ts"
import type { Order, SimulatedProvider, SimulatedResponse, SimulatorContext } from "./SimulatedProvider.ts"

/** One provider with its own port, and what the control addresses may do to it. */
export interface ProviderServer {
  readonly name: string
  readonly baseUrl: string
  readonly operations: ReadonlyArray<string>
  readonly accounts: ReadonlyArray<string>
  /** When down, it refuses connections; when up again, it listens on the same port. */
  readonly setDown: (down: boolean) => Effect.Effect<void>
  readonly chooseNext: (operation: string, ending: Ending) => void
  readonly setCallbackAddress: (url: string, account: string | undefined) => Effect.Effect<void>
  /** By name: events that no call causes. */
  readonly orders: Readonly<Record<string, (body: string) => ReturnType<Order>>>
  /** Limits the rate of the calls of all its accounts, where a rate is set. */
  readonly gate: RateGate
}

interface Options {
  readonly host: string
  readonly delayMs: number
  readonly account: Account
  readonly calls: CallLog
  readonly ports: Ports
  readonly scheduler: Scheduler
}

export const openProviderServer = Effect.fn("openProviderServer")(function* (
  provider: SimulatedProvider,
  options: Options
): Effect.fn.Return<ProviderServer, never, Scope.Scope> {
  const { account, scheduler } = options
  const chosen = new Map<string, Array<Ending>>()
  const setting = (now: number) => ({ callback: provider.callback, delayMs: options.delayMs, now })
  /** Commits the facts, and waits for the callbacks that come before the response. */
  const play = Effect.fnUntraced(function* (transaction: SimulatedTransaction, factsAt: (now: number) => ReadonlyArray<Fact>) {
    yield* scheduler.commit(factsAt(yield* Clock.currentTimeMillis))
    yield* scheduler.untilAttempted(earlyJob(transaction))
    return playOf(transaction.kind, transaction.ending).responseFault
  })
  let port = 0

  const context: SimulatorContext = {
    account,
    get origin() {
      return `http://${options.host}:${port}`
    },
    accept: (transaction, alongside = []) =>
      play(transaction, (now) => [...alongside, ...openingFacts(transaction, setting(now))]),
    commit: scheduler.commit,
    completeByPayer: (transaction) => play(transaction, (now) => completionFacts(transaction, setting(now))),
    chosen: (operation) => chosen.get(operation)?.shift() ?? "ordinary"
  }

  const gate = new RateGate()
  const handler = provider.handler(context)
  const listener = yield* makeListener(
    options.host,
    Effect.fnUntraced(function* (request) {
      yield* options.calls.record(provider.name, request)
      const away = gate.answer(provider.tooMany, yield* Clock.currentTimeMillis)
      if (away !== undefined) return away
      const response = yield* handler(request)
      yield* account.settled
      return response
    })
  )

  const obeyed: Readonly<Record<string, Order>> = { return: returnOrder(provider.name, provider.accounts), ...provider.orders }
  const orders = Object.fromEntries(
    Object.entries(obeyed).map(([name, obey]) => [name, (body: string) => obey(context, body)] as const)
  )

  const setCallbackAddress: ProviderServer["setCallbackAddress"] = (url, clientId) =>
    account.commit(
      provider.accounts
        .filter((one) => clientId === undefined || one.clientId === clientId)
        .map((one) => ({ fact: "note", key: callbackAddress(provider.name, one.clientId), value: url }))
    )

  const open = Effect.gen(function* () {
    const before = options.ports.of(provider.name)
    const reopened = before === undefined ? undefined : yield* listener.open(before)
    port = reopened ?? (yield* listener.open(0)) ?? 0
    if (port !== before) yield* options.ports.remember(provider.name, port)
  })
  yield* open
  let isDown = false

  return {
    name: provider.name,
    get baseUrl() {
      return `${context.origin}${provider.mount}`
    },
    operations: provider.operations,
    accounts: provider.accounts.map(({ clientId }) => clientId),
    setDown: Effect.fnUntraced(function* (down) {
      if (down === isDown) return
      isDown = down
      yield* down ? listener.close : open
    }),
    chooseNext: (operation, ending) => {
      chosen.set(operation, [...(chosen.get(operation) ?? []), ending])
    },
    setCallbackAddress,
    orders,
    gate
  }
})

/** The calls that a provider lets in, and the wait that it announces to others, if any. */
interface CallRate {
  readonly callsPerSecond: number
  readonly retryAfterSeconds?: number | undefined
}

const SECOND_MS = 1_000

/** Lets in this many calls within any second and turns the others away. It lets everything in until a rate is set. */
export class RateGate {
  #rate: CallRate | null = null
  /** When each call of the last second was let in. */
  #letIn: Array<number> = []
  #turnedAway = 0

  /** From now on; null lets everything in again. */
  set(rate: CallRate | null): void {
    this.#rate = rate
    this.#letIn = []
    this.#turnedAway = 0
  }

  /** Since the rate was set. */
  get turnedAway(): number {
    return this.#turnedAway
  }

  /** Undefined where a call at this time is let in, otherwise the response; a call that is turned away does not count. */
  answer(tooMany: SimulatedResponse, now: number): SimulatedResponse | undefined {
    const rate = this.#rate
    if (rate === null) return undefined
    this.#letIn = this.#letIn.filter((at) => now - at < SECOND_MS)
    if (this.#letIn.length < rate.callsPerSecond) {
      this.#letIn.push(now)
      return undefined
    }
    this.#turnedAway += 1
    const { retryAfterSeconds } = rate
    if (tooMany.kind !== "response" || retryAfterSeconds === undefined) return tooMany
    return { ...tooMany, retryAfter: String(retryAfterSeconds) }
  }
}
