import { Clock, Console, Context, Effect, Layer, Option, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Reference } from "../../../src/domain/Ids.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { Logs } from "../../../src/observability/Logs.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import type { Adapter, Provider, RawCallback } from "../../../src/services/ports/Provider.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import type { KnownSimulator } from "../../../src/simulator/SimulatorModule.ts"
import { abilitiesOf } from "../../../test/providers/contract/Abilities.ts"
import { collectionsOf, payoutsOf } from "../../../test/providers/contract/Fixture.ts"
import { seeded } from "../../../test/support/Random.ts"
import { callerOf } from "../../simulation/Client.ts"
import { START } from "../../simulation/Fixtures.ts"
import { ledgerDifferences } from "../../simulation/LedgerCheck.ts"
import { Node } from "../../simulation/Node.ts"
import { openServices, request } from "../../simulation/NodeServices.ts"
import { refusalIn } from "../../simulation/Seen.ts"
import type { Ready, Testbed } from "../../simulation/Testbed.ts"
import { visited } from "../Case.ts"
import { refusalsOf } from "../Wires.ts"
import { Callbacks } from "./Callbacks.ts"
import { type Case, newCase, newOperation, type Operation, twistOf } from "./Case.ts"
import { AT_ONCE, leadingTo, tenantOf } from "./Ground.ts"
import { chargedTwice, expectedFloat, faultsOfEnd, unsafe } from "./Judge.ts"
import { type Outside, openOutside, SETTLING_MS } from "./Outside.ts"
import { HOUR, MINUTE, planOf, SECOND } from "./Plan.ts"

export interface Counts {
  readonly provider: string
  readonly cases: number
  /** Of those, in which money moved. */
  readonly moved: number
  /** Of those, whose line changed nothing that was said. */
  readonly vacuous: number
  readonly faults: ReadonlyArray<string>
}

/** Ages at which the gateway looks for work and the outside goes on: a little after what a gateway's schedule has. */
const AGES: ReadonlyArray<number> = [
  ...[1, 4, 8, 16, 31, 46, 61, 121, 301].map((seconds) => seconds * SECOND),
  ...[10, 12, 15, 16, 17, 20, 22, 25, 30, 40, 45, 60].map((minutes) => minutes * MINUTE + SECOND),
  ...[75, 90, 120, 180, 210, 240, 300].map((minutes) => minutes * MINUTE + SECOND),
  ...[6, 7, 12, 13, 18, 24, 25, 26, 30, 31, 36, 47, 48, 49, 50, 52, 60, 72, 73, 74, 96, 120, 122].map(
    (hours) => hours * HOUR + MINUTE
  )
]
const ITEMS_AT_MOST = 1_000
const DAY = 24 * HOUR

/** Plays cases of a provider at the same time, each with a tenant and a line of its own; each seed is a case of its own. */
export const playTogether = (
  testbed: Testbed,
  known: KnownSimulator,
  first: number,
  cases: number
): Effect.Effect<Counts, never, Scope.Scope> =>
  TestClock.setTime(START + DAY).pipe(
    Effect.andThen(Clock.Clock),
    Effect.flatMap((clock) =>
      Effect.suspend(() => new Stage(testbed, known, first, Math.min(cases, AT_ONCE)).played).pipe(
        Effect.provideService(Clock.Clock, testbed.clockAfter(clock))
      )
    ),
    Effect.provide(TestClock.layer())
  )

class Stage {
  readonly #testbed: Testbed
  readonly #known: KnownSimulator
  readonly #first: number
  readonly #count: number
  readonly #cases: Array<Case> = []
  readonly #byReference = new Map<string, Case>()
  /** What an operator reads of it. */
  readonly #log: Array<string> = []
  readonly #callbacks: Callbacks
  #now = START + DAY
  /** Whose request it is that is under way. */
  #current: Case | undefined

  constructor(testbed: Testbed, known: KnownSimulator, first: number, count: number) {
    this.#testbed = testbed
    this.#known = known
    this.#first = first
    this.#count = count
    this.#callbacks = new Callbacks(seeded(first))
  }

  /** With the log of a gateway in production. */
  readonly played: Effect.Effect<Counts, never, Scope.Scope> = Effect.suspend(() => {
    const error = (text: string) => void this.#log.push(...text.split("\n"))
    const heard = Layer.succeed(Console.Console, Object.assign(Object.create(console), { error }))
    return Effect.provide(this.#play, Layer.provide(Logs.layer({ format: "json", level: "Error" }), heard))
  })

  readonly #play: Effect.Effect<Counts, never, Scope.Scope> = Effect.gen({ self: this }, function* () {
    const { name } = this.#known
    const abilities = abilitiesOf(name)
    const aheadMs = seeded(this.#first).chance(0.5) ? HOUR : 0
    yield* this.#testbed.clearTo(leadingTo(name, abilities))
    const outside = yield* openOutside(this.#known, aheadMs)
    const honest = yield* outside.open()
    const refusals = {
      payout: yield* Effect.orDie(refusalsOf("payout", honest, outside.line, abilities)),
      charge: yield* Effect.orDie(refusalsOf("charge", honest, outside.line, abilities))
    }
    yield* this.#pass(outside, SETTLING_MS)
    outside.callbacks.length = 0
    const isInferred = honest.guarantees.lookup === "by_client_ref_inferred"
    for (let number = 0; number < this.#count; number++) {
      const plan = planOf(this.#first + number, { abilities, refusals, isInferred })
      this.#cases.push(newCase(number, plan, yield* outside.open(outside.line.addressOf(number))))
    }
    yield* this.#story(outside, yield* this.#open(outside, honest))
    return yield* this.#judged(outside, { abilities, isInferred, aheadMs })
  })

  /** The production services, on PostgreSQL and the provider. */
  #open(outside: Outside, honest: Adapter) {
    return Effect.gen({ self: this }, function* () {
      const clock = yield* Clock.Clock
      const latest = Effect.sync(() => clock.currentTimeMillisUnsafe())
      const node = new Node(() => "goes_on", { clock, latest, leaps: Effect.succeed([]) })
      const committed = (record: Transaction) => {
        const one = this.#byReference.get(record.reference)
        const operation = one?.operations.find(({ reference }) => reference === record.reference)
        const isChange = operation?.commits.at(-1)?.record.status !== record.status
        operation?.commits.push({ at: this.#now, record })
        if (isChange) one?.faults.push(...unsafe(record, truthOf(outside, record.reference)))
      }
      const services = yield* openServices(node, {
        ready: this.#testbed.ports[0],
        providers: [this.#provider(outside, honest)],
        post: () => Effect.die(new Error("no tenant has an endpoint")),
        takesTime: Effect.void,
        notes: { placed: () => {}, opened: () => {}, committed }
      })
      const work = <A>(work: Effect.Effect<A>, heard: (answer: A) => void = () => {}) => node.run(work, heard)
      return { services, work }
    })
  }

  /** What a case sends and asks goes over its own line. */
  #provider(outside: Outside, honest: Adapter): Provider {
    const asking = (reference: Reference): Adapter => this.#byReference.get(reference)?.adapter ?? honest
    const sending = (reference: Reference): Adapter => {
      const one = this.#current
      const operation = one?.operations.at(-1)
      if (one === undefined || operation === undefined) throw new Error("nobody's request sends")
      this.#byReference.set(reference, one)
      operation.reference ??= reference
      one.badUntil ??= this.#now + one.plan.honestAfterMs + 1
      return one.adapter
    }
    return {
      ...honest,
      name: outside.name,
      fingerprints: () => [outside.name],
      payouts: {
        ...payoutsOf(honest),
        send: (order) => Effect.suspend(() => payoutsOf(sending(order.reference)).send(order)),
        fetchStatus: (order) => Effect.suspend(() => payoutsOf(asking(order.reference)).fetchStatus(order))
      },
      collections: {
        ...collectionsOf(honest),
        charge: (order) =>
          Effect.tap(
            Effect.suspend(() => collectionsOf(sending(order.reference)).charge(order)),
            (outcome) =>
              Effect.sync(() => (outcome._tag === "NeedsRedirect" ? this.#current?.pages.push(outcome.redirectUrl) : undefined))
          ),
        fetchStatus: (order) => Effect.suspend(() => collectionsOf(asking(order.reference)).fetchStatus(order))
      }
    }
  }

  #story(outside: Outside, gateway: Gateway): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const run = Effect.runPromiseWith(yield* Effect.context<never>())
      outside.line.twist = (asked) => {
        const one = asked.number === null ? undefined : this.#cases[asked.number]
        return one === undefined ? null : twistOf(one, this.#now, asked, () => run(this.#overtaken(outside, gateway, one)))
      }
      const begun = this.#now
      const events = this.#cases.flatMap((one) => this.#eventsOf(outside, gateway, one))
      for (const one of this.#cases) yield* this.#ask(gateway, one, newOperation(one, this.#now))
      for (const age of AGES) {
        yield* this.#pass(outside, begun + age - this.#now)
        for (const event of events.filter(({ at }) => at <= age)) {
          events.splice(events.indexOf(event), 1)
          yield* event.happens
        }
        yield* outside.settled
        yield* this.#news(outside, gateway, (now) => this.#callbacks.due(now))
        yield* rounds(gateway.work, gateway.services.poller.round)
      }
    })
  }

  /** What the tenant, the payer and the provider do besides, by the age at which they do it. */
  #eventsOf(outside: Outside, gateway: Gateway, one: Case) {
    const { clicksAfterMs, repeatsAfterMs, turnsAfterMs, visitsAfterMs } = one.plan
    const event = (at: number | null, happens: () => Effect.Effect<void>) =>
      at === null ? [] : [{ at, happens: Effect.suspend(happens) }]
    const repeat = () => {
      const [first] = one.operations
      return first === undefined || first.isAnswered ? Effect.void : this.#ask(gateway, one, first)
    }
    const turn = () =>
      Effect.forEach(
        outside
          .transactions(one.operations[0]?.reference ?? "")
          .filter((known) => !known.returned && !known.awaitsPayer)
          .slice(0, 1),
        outside.turn,
        { discard: true }
      )
    return [
      ...event(repeatsAfterMs, repeat),
      ...event(clicksAfterMs, () => this.#ask(gateway, one, newOperation(one, this.#now))),
      ...event(visitsAfterMs, () => Effect.forEach(one.pages.splice(0), visited, { discard: true })),
      ...event(turnsAfterMs, turn)
    ]
  }

  #ask({ services, work }: Gateway, one: Case, operation: Operation): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!one.operations.includes(operation)) one.operations.push(operation)
      this.#current = one
      const caller = callerOf({ appId: tenantOf(one.number), mode: "live" })
      const signed = { body: operation.body, caller, rawHeaders: ["Idempotency-Key", operation.key] }
      const asked = { kind: one.plan.kind === "payout" ? "payout" : "collection" } as const
      return work(request(services, signed, asked), ({ body, status }) => {
        operation.answers.push(`${status} ${body}`)
        operation.isAnswered = status === 201 || refusalIn(body)?.terminal === true
      })
    })
  }

  /** The provider has done what it was asked to, and called back, before its answer is heard. */
  #overtaken(outside: Outside, gateway: Gateway, one: Case): Effect.Effect<void> {
    return Effect.suspend(() => {
      const isMade = one.operations.some(({ reference }) => outside.transactions(reference ?? "").length > 0)
      if (!one.left.isOvertaken || !isMade) return Effect.void
      one.left.isOvertaken = false
      return Effect.andThen(
        this.#pass(outside, SETTLING_MS),
        this.#news(outside, gateway, () => this.#callbacks.of(one))
      )
    })
  }

  #news(outside: Outside, { services, work }: Gateway, due: (now: number) => ReadonlyArray<RawCallback>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#callbacks.take(outside, this.#cases, this.#now)
      const receive = (callback: RawCallback) => work(Effect.exit(services.ingress.receive(outside.name, "live", callback)))
      return Effect.andThen(Effect.forEach(due(this.#now), receive, { discard: true }), rounds(work, services.ingress.round))
    })
  }

  #pass(outside: Outside, ms: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#now += Math.max(0, ms)
      return Effect.andThen(TestClock.setTime(this.#now), outside.settled)
    })
  }

  #judged(outside: Outside, ground: Parameters<typeof faultsOfEnd>[1]): Effect.Effect<Counts> {
    return Effect.gen({ self: this }, function* () {
      const [ready] = this.#testbed.ports
      const faults: Array<string> = []
      let [moved, vacuous] = [0, 0]
      for (const one of this.#cases) {
        const ended = yield* Effect.forEach(one.operations, (operation) =>
          Effect.map(recordOf(ready, operation), (record) => ({
            one,
            operation,
            record,
            truth: truthOf(outside, operation.reference ?? "")
          }))
        )
        if (ended.some(({ truth }) => truth.executions.length > 0)) moved += 1
        if (!one.plan.line.hasBitten() && one.left.isBroken === one.plan.isBroken) vacuous += 1
        const own = [...one.faults, ...ended.flatMap((end) => faultsOfEnd(end, ground)), ...chargedTwice(ended)]
        const expected = expectedFloat(ended)
        const positions = yield* Context.get(ready, FloatLedger).positions(tenantOf(one.number), "live")
        const float = positions.find(({ currency }) => currency === one.plan.way.currency)
        const total = (float?.available ?? 0n) + (float?.reserved ?? 0n) - (float?.receivable ?? 0n)
        if (own.length === 0 && expected !== null && total !== expected)
          own.push(`the float is ${total}, and ${expected} is right`)
        faults.push(...own.map((fault) => `${this.#known.name} ${one.plan.seed}, ${one.plan.name}: ${fault}`))
      }
      for (const line of yield* ledgerDifferences(ready)) faults.push(`ledger: ${JSON.stringify(line)}`)
      faults.push(...storms(this.#log))
      return { provider: this.#known.name, cases: this.#cases.length, moved, vacuous, faults }
    })
  }
}

interface Gateway {
  readonly services: Effect.Success<ReturnType<typeof openServices>>
  readonly work: <A>(work: Effect.Effect<A>, heard?: (answer: A) => void) => Effect.Effect<void>
}

const rounds = (work: Gateway["work"], round: Effect.Effect<number>): Effect.Effect<void> =>
  Effect.gen(function* () {
    let done = 1
    for (let item = 0; item < ITEMS_AT_MOST && done > 0; item++) {
      done = 0
      yield* work(round, (count) => void (done = count))
    }
  })

/** Alarms of a kind that came again within a minute. */
const storms = (log: ReadonlyArray<string>): ReadonlyArray<string> => {
  const last = new Map<string, number>()
  return log.flatMap((line) => {
    const { annotations, message, time } = JSON.parse(line)
    const { alarm, count, provider } = annotations
    if (alarm === undefined || count !== undefined) return []
    const [kind, at] = [`${message}: ${alarm} (${provider})`, Date.parse(time)]
    const before = last.get(kind)
    last.set(kind, at)
    return before !== undefined && at - before < MINUTE - 10 * SECOND ? [`again after ${at - before} ms: ${kind}`] : []
  })
}

const truthOf = ({ executions, transactions }: Outside, reference: string) => ({
  transactions: transactions(reference),
  executions: reference === "" ? [] : executions(reference)
})

const recordOf = (ready: Ready, { reference }: Operation) =>
  reference === undefined
    ? Effect.succeed(undefined)
    : Effect.map(Context.get(ready, Transactions).byReference(reference), (found) =>
        Option.getOrUndefined(Option.map(found, ({ transaction }) => transaction))
      )
