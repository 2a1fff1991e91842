import { it } from "@effect/vitest"
import { Effect, Metric, Option } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { AppId } from "../../../src/domain/Ids.ts"
import { ActingTenant } from "../../../src/runtime/CallTurn.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import { Reference } from "../../../src/services/reference/Reference.ts"
import { Circuits } from "../../../src/services/routing/Circuits.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { type FakeProvider, fakeProvider } from "../../fakes/FakeProvider.ts"
import { appId, caller, charge, givenFloat, pay } from "../../support/PaymentRequests.ts"
import { records, routedTo } from "../../support/RoutedGateway.ts"

/** As many failures in a row as open a circuit, by the settings of the tests. */
const FAILURES = 20

const times = (provider: FakeProvider, call: string) => provider.calls.filter((one) => one === call).length
const payOften = (count: number, from: number) =>
  Effect.forEach(
    Array.from({ length: count }),
    (_, index) => pay(`payout ${from + index}`, { number: `+256772123${from + index}` }),
    { concurrency: "unbounded" }
  )
/** Counts for itself what else the whole process counts. */
const counting = <A, E, R>(story: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => Effect.provideService(story, Metric.MetricRegistry, new Map()))
/** What `/metrics` shows of it. */
const gauge = (provider: string, operation: string) =>
  Effect.map(Metric.snapshot, (all) => {
    const own = all.find(
      ({ attributes, id }) =>
        id === "gateway_provider_circuit_open" && attributes?.["provider"] === provider && attributes["operation"] === operation
    )
    return own?.type === "Gauge" ? own.state.value : undefined
  })
const availability = Effect.map(
  Effect.flatMap(Reference, (reference) => reference.corridors(caller)),
  (rows) => rows.filter(({ country, method }) => country === "UG" && method === "momo").map((row) => row.availability)
)

describe("a provider to which calls keep failing", () => {
  it.effect("is skipped after the configured number of failures in a row, and tried by one payout after the waiting time", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("circuit-alpha", { sending: "never sent" })
      const beta = fakeProvider("circuit-beta")
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        expect(yield* availability).toStrictEqual(["operational", "operational"])
        yield* givenFloat(appId, 10_000_000n)
        yield* payOften(FAILURES - 1, 100)
        // A success between them, and the count begins again.
        alpha.script.sending = "accepted"
        yield* payOften(1, 200)
        alpha.script.sending = "never sent"
        yield* payOften(FAILURES - 1, 300)
        expect(yield* gauge("circuit-alpha", "send")).toBeUndefined()
        yield* payOften(1, 400)
        expect(yield* gauge("circuit-alpha", "send")).toBe(1)
        // Neither its price nor its sending is asked for any more, and what is sent elsewhere was never recorded there.
        const before = [...alpha.calls]
        expect(yield* pay("elsewhere")).toBe("pending")
        expect(alpha.calls).toStrictEqual(before)
        expect((yield* records).at(-1)?.transaction).toMatchObject({ provider: "circuit-beta", version: 1 })
        expect(yield* availability).toStrictEqual(["operational", "degraded"])

        alpha.script.sending = "accepted"
        yield* TestClock.adjust("1 second")
        yield* pay("trial")
        expect(yield* gauge("circuit-alpha", "send")).toBe(0)
        expect((yield* records).at(-1)?.transaction.provider).toBe("circuit-alpha")
        expect(yield* availability).toStrictEqual(["operational", "operational"])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped, counting)
  )
})

describe("a provider whose circuit is open", () => {
  const line = (operation: "send" | "charge" | "quote" | "reads") => ({ provider: "alpha", mode: "live", operation }) as const

  it.effect("gets none of the calls that keep failing and all others, and is still asked about what was sent", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { sending: "silent" })
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        yield* Effect.forEach(Array.from({ length: FAILURES }), (_, index) =>
          charge(`charge ${index}`, `+2567721234${10 + index}`)
        )
        const circuits = yield* Circuits
        expect(yield* circuits.isOpen(line("charge"))).toBe(true)
        expect(yield* circuits.isOpen(line("send"))).toBe(false)
        const before = times(alpha, "charge")
        // Nobody else can take it: nothing is recorded, and the same key works again later.
        expect(yield* charge("held", "+256772123499")).toBe("provider_error")
        expect(times(alpha, "charge")).toBe(before)
        expect(yield* records).toHaveLength(FAILURES)
        const asked = times(alpha, "ask")
        yield* TestClock.adjust("15 seconds")
        yield* (yield* OutcomePoller).round
        expect(times(alpha, "ask")).toBeGreaterThan(asked)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("that cannot be read gets no further read before the waiting time, and then a single one", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { down: true })
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        const reads = Effect.flatMap(Reference, (reference) => Effect.exit(reference.banks(caller, "UG")))
        yield* Effect.forEach(Array.from({ length: FAILURES + 5 }), () => reads)
        expect(times(alpha, "banks")).toBe(FAILURES)
        yield* TestClock.adjust("1 second")
        yield* Effect.all([reads, reads])
        expect(times(alpha, "banks")).toBe(FAILURES + 1)
        alpha.script.down = false
        yield* TestClock.adjust("1 second")
        yield* reads
        expect(times(alpha, "banks")).toBe(FAILURES + 1)
        yield* TestClock.adjust("1 second")
        yield* Effect.all([reads, reads])
        expect(times(alpha, "banks")).toBe(FAILURES + 3)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("is not one whose answers arrive but cannot be understood", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { sending: "unreadable" })
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        const provider = Option.getOrThrow((yield* ProviderRegistry).find("alpha", "live"))
        const order = { reference: "R", corridor: {}, quote: {}, destination: {}, narration: null } as never
        yield* Effect.forEach(Array.from({ length: FAILURES + 5 }), () => provider.payouts?.send(order) ?? Effect.void)
        expect(times(alpha, "send")).toBe(FAILURES + 5)
        expect(yield* (yield* Circuits).isOpen(line("send"))).toBe(false)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("makes a payout or charge fail as never sent", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { sending: "never sent" })
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        const provider = Option.getOrThrow((yield* ProviderRegistry).find("alpha", "live"))
        const order = { reference: "R" } as never
        for (const move of [provider.payouts?.send, provider.collections?.charge]) {
          if (move === undefined) continue
          const answers = yield* Effect.forEach(Array.from({ length: FAILURES + 1 }), () => move(order))
          expect(answers.at(-2)).toStrictEqual({ _tag: "NotSent", note: "connection refused" })
          expect(answers.at(-1)).toStrictEqual({ _tag: "NotSent", note: "circuit open" })
        }
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})

describe("a tenant whose recipients make a provider's calls fail", () => {
  const asTenant = (name: string) => Effect.provideService(ActingTenant, AppId.make(name))
  const line = { provider: "alpha", mode: "live", operation: "send" } as const
  const send = Effect.gen(function* () {
    const provider = Option.getOrThrow((yield* ProviderRegistry).find("alpha", "live"))
    return yield* provider.payouts?.send({ reference: "R" } as never) ?? Effect.die("it pays nobody out")
  })

  it.effect("is held back alone, while other tenants go on, until its own trial call succeeds", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { sending: "silent" })
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        const { isOpen } = yield* Circuits
        yield* Effect.forEach(Array.from({ length: 5 * FAILURES }), () => send).pipe(asTenant("attacker"))
        expect(times(alpha, "send")).toBe(FAILURES)
        expect(yield* isOpen(line).pipe(asTenant("attacker"))).toBe(true)
        expect(yield* isOpen(line).pipe(asTenant("neighbour"))).toBe(false)
        // Operators see it: it may be an outage that only one tenant meets yet.
        expect(yield* gauge("alpha", "send")).toBe(1)
        alpha.script.sending = "accepted"
        expect((yield* send.pipe(asTenant("neighbour")))._tag).not.toBe("NotSent")
        expect(yield* send.pipe(asTenant("attacker"))).toMatchObject({ _tag: "NotSent", note: "circuit open" })
        yield* TestClock.adjust("1 second")
        expect((yield* send.pipe(asTenant("attacker")))._tag).not.toBe("NotSent")
        expect(yield* gauge("alpha", "send")).toBe(0)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped, counting)
  )

  it.effect("is held back with all others when several tenants have failures", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { sending: "silent" })
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        for (const tenant of ["one", "two"])
          yield* Effect.forEach(Array.from({ length: FAILURES / 2 }), () => send).pipe(asTenant(tenant))
        expect(yield* (yield* Circuits).isOpen(line).pipe(asTenant("three"))).toBe(true)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("is held back with all others when calls do not even leave, because no tenant can cause that", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { sending: "never sent" })
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        yield* Effect.forEach(Array.from({ length: FAILURES }), () => send).pipe(asTenant("one"))
        expect(yield* (yield* Circuits).isOpen(line).pipe(asTenant("two"))).toBe(true)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("is forgotten when it makes no further call, so that no circuit is shown as open for ever", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { sending: "silent" })
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        yield* Effect.forEach(Array.from({ length: FAILURES }), () => send).pipe(asTenant("gone"))
        alpha.script.sending = "accepted"
        yield* TestClock.adjust("2 minutes")
        yield* send.pipe(asTenant("neighbour"))
        expect(yield* gauge("alpha", "send")).toBe(0)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped, counting)
  )
})
