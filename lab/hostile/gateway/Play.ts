import { Clock, Console, Context, Duration, Effect, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Reference } from "../../../src/domain/Ids.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { Logs } from "../../../src/observability/Logs.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import type { Adapter, RawCallback } from "../../../src/services/ports/Provider.ts"
import { endingOf } from "../../../src/simulator/Endings.ts"
import type { KnownSimulator } from "../../../src/simulator/SimulatorModule.ts"
import { abilitiesOf } from "../../../test/providers/contract/Abilities.ts"
import type { Abilities } from "../../../test/providers/contract/Orders.ts"
import { seeded } from "../../../test/support/Random.ts"
import { START } from "../../simulation/Fixtures.ts"
import { ledgerDifferences } from "../../simulation/LedgerCheck.ts"
import { Node } from "../../simulation/Node.ts"
import { openServices } from "../../simulation/NodeServices.ts"
import type { Testbed } from "../../simulation/Testbed.ts"
import { visited } from "../Case.ts"
import type { HostileLine } from "../HostileLine.ts"
import { spokenBy } from "../Wires.ts"
import { overLines } from "./Accounts.ts"
import { Callbacks } from "./Callbacks.ts"
import { type Case, isVacuous, newCase, newOperation, type Operation, twistOf } from "./Case.ts"
import { type Gateway, rounds } from "./Gateway.ts"
import { AT_ONCE, fund, leadingTo, tenantOf } from "./Ground.ts"
import { chargedTwice, faultsOfEnd, isContrary, storms, type Truth, toldAgain, unsafe, wrongFloats } from "./Judge.ts"
import { LogWindows } from "./LogWindows.ts"
import { NOBODY, type Outside, openOutside, PAID_BY_HAND, paidByHand, SETTLING_MS } from "./Outside.ts"
import { AGES, DAY, HOUR, MINUTE, type Plan, type Provided, planOf, SECOND } from "./Plan.ts"
import { dayFaults, listFaults, unreported } from "./Reads.ts"
import { ask, asked, recordOf } from "./Requests.ts"
import { storiesOf } from "./Stories.ts"
import { weekFaults } from "./Weeks.ts"

export interface Counts {
  readonly provider: string
  readonly cases: number
  /** Of those, in which money moved. */
  readonly moved: number
  /** Of those, whose line was bad for a time and changed nothing that was said in it. */
  readonly vacuous: number
  /** Charges that were disputed or refunded weeks later. */
  readonly claimed: number
  readonly faults: ReadonlyArray<string>
}

/** A call that is held back for longer is not waited for. */
const LONGEST_TURN_MS = 5 * SECOND

const spareOf = (name: string): string => `${name}_spare`

/** Cases that seeds choose, and with them the stories that are the same each time. */
interface Played {
  readonly first: number
  readonly cases: number
  readonly hasStories: boolean
}

/** Plays cases of a provider at the same time, each with a tenant and a line of its own; each seed is a case of its own. */
export const playTogether = (
  testbed: Testbed,
  known: KnownSimulator,
  played: Played
): Effect.Effect<Counts, never, Scope.Scope> =>
  TestClock.setTime(START + DAY).pipe(
    Effect.andThen(Clock.Clock),
    Effect.flatMap((clock) =>
      Effect.suspend(() => new Stage(testbed, known, played).played).pipe(
        Effect.provideService(Clock.Clock, testbed.clockAfter(clock))
      )
    ),
    Effect.provide(TestClock.layer())
  )

class Stage {
  readonly #testbed: Testbed
  readonly #known: KnownSimulator
  readonly #set: Played
  readonly #cases: Array<Case> = []
  readonly #byReference = new Map<string, Case>()
  /** What an operator reads of it. */
  readonly #log: Array<string> = []
  readonly #windows = new LogWindows()
  readonly #callbacks: Callbacks
  /** The one that takes over, and the first. */
  readonly #outsides: Array<Outside> = []
  #now = START + DAY
  #isAnsweredLater = false
  /** What becomes of requests that are no case's own. */
  #ofReads: HostileLine["twist"] = null
  /** Whose request it is that is under way. */
  #current: Case | undefined

  constructor(testbed: Testbed, known: KnownSimulator, set: Played) {
    this.#testbed = testbed
    this.#known = known
    this.#set = set
    this.#callbacks = new Callbacks(seeded(set.first))
  }

  /** With the log of a gateway in production. */
  readonly played: Effect.Effect<Counts, never, Scope.Scope> = Effect.suspend(() => {
    const error = (text: string) => void this.#log.push(...text.split("\n"))
    const heard = Layer.succeed(Console.Console, Object.assign(Object.create(console), { error }))
    return Effect.clockWith((clock) => {
      const logs = Logs.layer({ format: "json", level: "Error" })
      const outside = Layer.merge(heard, Layer.succeed(Clock.Clock, this.#windows.on(clock)))
      return Effect.provide(this.#play, Layer.provide(logs, outside))
    })
  })

  readonly #play: Effect.Effect<Counts, never, Scope.Scope> = Effect.gen({ self: this }, function* () {
    const { name } = this.#known
    const abilities = abilitiesOf(name)
    const aheadMs = seeded(this.#set.first).chance(0.5) ? HOUR : 0
    yield* this.#testbed.clearTo(leadingTo([name, spareOf(name)], abilities))
    const outside = yield* openOutside(this.#known, aheadMs)
    const spare = yield* openOutside(this.#known, aheadMs)
    this.#outsides.push(spare, outside)
    const honest = yield* outside.open()
    this.#isAnsweredLater = honest.callbacks.keep !== undefined
    const { line } = outside
    const heard = yield* Effect.provideService(spokenBy(honest, line, abilities), Clock.Clock, this.#patient(yield* Clock.Clock))
    yield* this.#pass(SETTLING_MS)
    if (listsPayouts(honest, abilities)) yield* paidByHand(outside, honest, abilities, this.#pass(SETTLING_MS))
    outside.callbacks.length = 0
    const isInferred = honest.guarantees.lookup === "by_client_ref_inferred"
    const [ready] = this.#testbed.ports
    for (const [number, plan] of this.#plans({ abilities, ...heard, isInferred }).entries()) {
      const address = plan.plot === "unreachable" ? NOBODY : line.addressOf(number)
      const adapter = yield* outside.open(address)
      // Its first request of all is a token's, and the order would never meet the line.
      if (plan.plot !== "any" && address !== NOBODY)
        yield* Effect.provideService(asked(adapter, plan), Clock.Clock, this.#patient(yield* Clock.Clock))
      this.#cases.push(newCase(number, plan, adapter))
      const brought = plan.kind === "exchange" ? abilities.exchange?.destinationCurrency : undefined
      yield* fund(ready, number, [plan.way.currency, ...(brought === undefined ? [] : [brought])])
    }
    const gateway = yield* this.#open(outside.name, honest, yield* spare.open())
    const begun = this.#now
    const faults = yield* this.#story(outside, gateway, honest)
    // Where "not found" proves nothing for a day, a person has what was never found.
    const isForPerson = isInferred || honest.guarantees.notFoundGraceMs >= DAY
    const counts = yield* this.#judged({ abilities, isInferred: isForPerson, aheadMs }, faults)
    // What is not right by then is not followed.
    if (counts.faults.length > 0) return counts
    const weeks = yield* weekFaults({
      ready,
      gateway,
      outside,
      hasStatement: honest.statement !== undefined && honest.guarantees.clawbacksUnstated !== true,
      isUnaskable: honest.guarantees.chargeLookup !== undefined,
      cases: this.#cases,
      truthOf: (reference) => this.#truthOf(reference),
      passTo: (ageMs) => Effect.suspend(() => this.#pass(begun + ageMs - this.#now)),
      spoil: this.#spoil,
      random: seeded(this.#set.first)
    })
    const late = [...weeks.faults, ...this.#cases.flatMap((one) => one.faults), ...(yield* this.#ledgerFaults())]
    return { ...counts, claimed: weeks.claimed, faults: [...late.map((fault) => `${name}: ${fault}`), ...storms(this.#log)] }
  })

  #plans(provided: Provided): ReadonlyArray<Plan> {
    const { cases, first, hasStories } = this.#set
    const seeds = Array.from({ length: Math.min(cases, AT_ONCE) }, (_, number) => first + number)
    return [...seeds.map((seed) => planOf(seed, provided)), ...(hasStories ? storiesOf(provided) : [])]
  }

  readonly #spoil = (twist: HostileLine["twist"]): void => void (this.#ofReads = twist)

  /** The production services, on PostgreSQL, the provider, and another one that serves the same corridors. */
  #open(name: string, honest: Adapter, spare: Adapter) {
    return Effect.gen({ self: this }, function* () {
      const clock = this.#patient(yield* Clock.Clock)
      const latest = () => clock.currentTimeMillisUnsafe()
      const node = new Node(() => "goes_on", { clock, latest, leaps: Effect.succeed([]) })
      const committed = (record: Transaction) => {
        const one = this.#byReference.get(record.reference)
        const operation = one?.operations.find(({ reference }) => reference === record.reference)
        const before = operation?.commits.at(-1)?.record
        operation?.commits.push({ at: this.#now, record })
        one?.faults.push(
          ...(before?.status === record.status ? toldAgain(before, record) : unsafe(record, this.#truthOf(record.reference)))
        )
      }
      const asking = (reference: Reference): Adapter => this.#byReference.get(reference)?.adapter ?? honest
      const sending = (reference: Reference): Adapter => this.#sending(reference).adapter
      const shown = (url: string) => void this.#current?.pages.push(url)
      const { exchange: _, ...payments } = spare
      const second = (reference: Reference): Adapter => {
        this.#sending(reference)
        return payments
      }
      const services = yield* openServices(node, {
        ready: this.#testbed.ports[0],
        providers: [
          overLines(name, honest, { asking, sending, shown }),
          overLines(spareOf(name), payments, { asking: () => payments, sending: second, shown })
        ],
        post: () => Effect.die(new Error("no tenant has an endpoint")),
        takesTime: Effect.void,
        notes: { placed: () => {}, opened: () => {}, committed }
      })
      const work = <A>(work: Effect.Effect<A>, heard: (answer: A) => void = () => {}) => node.run(work, heard)
      return { services, work }
    })
  }

  /** Time passes while work waits for its turn at the provider: nobody else would move it. */
  #patient(clock: Clock.Clock): Clock.Clock {
    const sleep: Clock.Clock["sleep"] = (duration) => {
      const ms = Duration.toMillis(duration)
      return ms > LONGEST_TURN_MS
        ? clock.sleep(duration)
        : Effect.suspend(() => Effect.andThen(TestClock.setTime((this.#now += ms)), this.#answersLater))
    }
    return { ...clock, sleep }
  }

  /** What it waits for may be an answer that comes to an address of ours: it is there by the time that is due. */
  get #answersLater(): Effect.Effect<void> {
    return this.#isAnsweredLater ? Effect.forEach(this.#outsides, ({ settled }) => settled, { discard: true }) : Effect.void
  }

  /** Whose order it is. From the first one on its line is bad. */
  #sending(reference: Reference): Case {
    const one = this.#current
    const operation = one?.operations.at(-1)
    if (one === undefined || operation === undefined) throw new Error("nobody's request sends")
    this.#byReference.set(reference, one)
    operation.reference ??= reference
    if (operation.reference !== reference)
      one.faults.push(`${operation.key}: sent as ${operation.reference}, and as ${reference}`)
    one.badUntil ??= this.#now + one.plan.honestAfterMs + 1
    return one
  }

  /** What was wrong with what was read of it. */
  #story(outside: Outside, gateway: Gateway, honest: Adapter) {
    return Effect.gen({ self: this }, function* () {
      const run = Effect.runPromiseWith(yield* Effect.context<never>())
      outside.line.twist = (asked) => {
        const one = asked.number === null ? undefined : this.#cases[asked.number]
        if (one === undefined) return this.#ofReads?.(asked) ?? null
        const order = { isMade: () => this.#isMade(one), meanwhile: () => run(this.#overtaken(outside, gateway, one)) }
        return twistOf(one, this.#now, asked, order)
      }
      const begun = this.#now
      const events = this.#cases.flatMap((one) => this.#eventsOf(gateway, one))
      for (const one of this.#cases) {
        if (one.plan.kind === "exchange") outside.chooseExchange(endingOf(one.plan.ending))
        yield* this.#ask(gateway, one, newOperation(one, this.#now))
        for (const { happens } of events.filter(({ at }) => at === 0)) yield* happens
      }
      for (const age of AGES) {
        yield* this.#pass(begun + age - this.#now)
        for (const event of events.filter(({ at }) => at <= age)) {
          events.splice(events.indexOf(event), 1)
          yield* event.happens
        }
        yield* outside.settled
        yield* this.#news(outside, gateway, (now) => this.#callbacks.due(now))
        yield* rounds(gateway.work, gateway.services.poller.round)
      }
      const reading = {
        provider: outside.name,
        gateway,
        bankCountry: abilitiesOf(outside.name).payouts.find(({ method }) => method === "bank")?.country,
        pause: this.#pass(MINUTE),
        random: seeded(this.#set.first),
        spoil: this.#spoil
      }
      const { faults, report } = yield* dayFaults(reading, START + DAY)
      const byHand = listsPayouts(honest, abilitiesOf(outside.name)) ? PAID_BY_HAND : 0
      const untold = report === null ? [] : unreported(report, this.#contrary(), byHand)
      return [...(yield* listFaults(reading)), ...faults, ...untold.map((fault) => `${outside.name}: ${fault}`)]
    })
  }

  /** What the tenant, the payer and the provider do besides, by the age at which they do it. */
  #eventsOf(gateway: Gateway, one: Case) {
    const { clicksAfterMs, contradictsAfterMs, repeatsAfterMs, turnsAfterMs, visitsAfterMs } = one.plan
    const event = (at: number | null, happens: () => Effect.Effect<void>) =>
      at === null ? [] : [{ at, happens: Effect.suspend(happens) }]
    const repeat = () => {
      const [first] = one.operations
      return first === undefined || first.isAnswered ? Effect.void : this.#ask(gateway, one, first)
    }
    const made = () =>
      this.#outsides.flatMap((has) =>
        has
          .transactions(one.operations[0]?.reference ?? "")
          .filter((known) => !known.returned && !known.awaitsPayer)
          .slice(0, 1)
          .map((known) => ({ has, known }))
      )
    const it = (does: "turn" | "waver" | "contradict") => () =>
      Effect.forEach(made(), ({ has, known }) => has[does](known), { discard: true })
    return [
      ...event(repeatsAfterMs, repeat),
      ...event(clicksAfterMs, () => this.#ask(gateway, one, newOperation(one, this.#now))),
      ...event(visitsAfterMs, () => Effect.forEach(one.pages.splice(0), visited, { discard: true })),
      ...event(turnsAfterMs === null ? null : 0, it("waver")),
      ...event(turnsAfterMs, it("turn")),
      ...event(contradictsAfterMs, it("contradict"))
    ]
  }

  #ask(gateway: Gateway, one: Case, operation: Operation): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#current = one
      return ask(gateway, abilitiesOf(this.#known.name).exchange?.destinationCurrency, one, operation)
    })
  }

  #contrary(): ReadonlyArray<string> {
    return this.#cases.flatMap(({ operations }) =>
      operations.flatMap((operation) => {
        const { reference } = operation
        return reference !== undefined && isContrary(operation, this.#truthOf(reference)) ? [reference] : []
      })
    )
  }

  #isMade(one: Case): boolean {
    return one.operations.some(({ reference }) => this.#truthOf(reference ?? "").transactions.length > 0)
  }

  /** The provider has done what it was asked to, and called back, before its answer is heard. */
  #overtaken(outside: Outside, gateway: Gateway, one: Case): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!one.left.isOvertaken || !this.#isMade(one)) return Effect.void
      one.left.isOvertaken = false
      return Effect.andThen(
        this.#pass(SETTLING_MS),
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

  #pass(ms: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const before = this.#now
      this.#now += Math.max(0, ms)
      yield* TestClock.setTime(this.#now)
      yield* this.#windows.pass(before, this.#now)
      for (const outside of this.#outsides) yield* outside.settled
    })
  }

  #truthOf(reference: string): Truth {
    return {
      transactions: this.#outsides.flatMap(({ transactions }) => transactions(reference)),
      executions: reference === "" ? [] : this.#outsides.flatMap(({ executions }) => executions(reference))
    }
  }

  #ledgerFaults(): Effect.Effect<ReadonlyArray<string>> {
    const [ready] = this.#testbed.ports
    return Effect.map(ledgerDifferences(ready), (lines) => lines.map((line) => `ledger: ${JSON.stringify(line)}`))
  }

  #judged(ground: Parameters<typeof faultsOfEnd>[1], read: ReadonlyArray<string>): Effect.Effect<Counts> {
    return Effect.gen({ self: this }, function* () {
      const [ready] = this.#testbed.ports
      const faults: Array<string> = [...read]
      let [moved, vacuous] = [0, 0]
      for (const one of this.#cases) {
        const ended = yield* Effect.forEach(one.operations, (operation) =>
          Effect.map(recordOf(ready, operation), (record) => ({
            one,
            operation,
            record,
            truth: this.#truthOf(operation.reference ?? "")
          }))
        )
        if (ended.some(({ truth }) => truth.executions.length > 0)) moved += 1
        if (isVacuous(one)) vacuous += 1
        const own = [...one.faults, ...ended.flatMap((end) => faultsOfEnd(end, ground)), ...chargedTwice(ended)]
        const positions = yield* Context.get(ready, FloatLedger).positions(tenantOf(one.number), "live")
        if (own.length === 0) own.push(...wrongFloats(ended, positions))
        faults.push(...own.map((fault) => `${this.#known.name} ${one.plan.name}: ${fault}`))
      }
      faults.push(...(yield* this.#ledgerFaults()), ...storms(this.#log))
      return { provider: this.#known.name, cases: this.#cases.length, moved, vacuous, claimed: 0, faults }
    })
  }
}

const listsPayouts = ({ statement }: Adapter, { lists }: Abilities): boolean =>
  statement !== undefined && (lists === undefined || lists.includes("payout"))
