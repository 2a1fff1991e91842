import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { AmountCap } from "../../src/domain/AmountCaps.ts"
import { candidatesText } from "../../src/domain/Candidates.ts"
import { minor } from "../../src/domain/Money.ts"
import { emptyTrail, RouteTrail } from "../../src/runtime/RouteTrail.ts"
import { Payouts } from "../../src/services/payouts/Payouts.ts"
import { Circuits } from "../../src/services/routing/Circuits.ts"
import { type FakeWorld, fakeGateway } from "../fakes/FakeGateway.ts"
import { fakeRecords } from "../fakes/FakeMemory.ts"
import { type FakeProvider, fakeProvider } from "../fakes/FakeProvider.ts"
import { corridorTo, tenantNamed } from "../fakes/FakeTenants.ts"
import { caller, charge, historyOf, pay, payoutCommand } from "../support/PaymentRequests.ts"

const neverLeft = { sending: "never sent" } as const
const closed = { availability: "down", minimum: null, maximum: null, step: minor(1n) } as const
const most = { availability: "operational", minimum: null, maximum: minor(9_999n), step: minor(1n) } as const

/** What a request came to, and what its trail says at its end. */
const trailed = <E, R>(request: Effect.Effect<string, E, R>) =>
  Effect.suspend(() => {
    const trail = emptyTrail()
    return Effect.map(Effect.provideService(request, RouteTrail, trail), (ended) => [ended, candidatesText([...trail.values()])])
  })

const histories = Effect.flatMap(fakeRecords, (all) => Effect.forEach(all, ({ transaction }) => historyOf(transaction.reference)))

const on = (providers: ReadonlyArray<FakeProvider>, world: Partial<FakeWorld> = {}) => fakeGateway({ providers, ...world })

describe("a payout's candidates", () => {
  it.effect("are in the line of its history that opens it: the one that it goes to, and those whose turn did not come", () =>
    Effect.gen(function* () {
      expect(yield* trailed(pay("one"))).toStrictEqual(["pending", "alpha used #1; beta not_asked"])
      expect(yield* histories).toStrictEqual([["Opened: candidates: alpha used #1; beta not_asked", "Accepted"]])
    }).pipe(Effect.provide(on([fakeProvider("alpha"), fakeProvider("beta")])))
  )

  it.effect("say why each one before was passed over", () =>
    Effect.gen(function* () {
      const opened =
        "without no_account; mute no_price; picky refused (other); full outside_limits; closed network_down; busy no_turn; good used #1; last not_asked"
      expect(yield* trailed(pay("one"))).toStrictEqual(["pending", opened])
      expect(yield* histories).toStrictEqual([[`Opened: candidates: ${opened}`, "Accepted"]])
    }).pipe(
      Effect.provide(
        on([
          fakeProvider("without", {}, ["payouts"]),
          fakeProvider("mute", { down: true }),
          fakeProvider("picky", { refusesQuotes: "other" }),
          fakeProvider("full", { limits: most }),
          fakeProvider("closed", { limits: closed }),
          fakeProvider("busy", { heldMs: 60_000 }),
          fakeProvider("good"),
          fakeProvider("last")
        ])
      )
    )
  )

  it.effect("after failover say which attempt ended how, and why none of those between took it over", () =>
    Effect.gen(function* () {
      const asOpened = "alpha used #1; costlier not_asked; mute not_asked; beta not_asked"
      const moved = "alpha not_sent #1 (connection refused); costlier dearer; mute no_price; beta used #2"
      expect(yield* trailed(pay("one"))).toStrictEqual(["pending", moved])
      expect(yield* histories).toStrictEqual([
        [
          `Opened: candidates: ${asOpened}`,
          `Rerouted: never sent to alpha, goes to beta: connection refused; candidates: ${moved}`,
          "Accepted"
        ]
      ])
    }).pipe(
      Effect.provide(
        on([
          fakeProvider("alpha", neverLeft),
          fakeProvider("costlier", { fee: 1_001n }),
          fakeProvider("mute", { down: true }),
          fakeProvider("beta")
        ])
      )
    )
  )

  it.effect("say of a payout that nobody took over why, in the line that closes it", () =>
    Effect.gen(function* () {
      const ended = "alpha not_sent #1 (connection refused); costlier dearer"
      expect(yield* trailed(pay("one"))).toStrictEqual(["provider_unavailable", ended])
      expect((yield* histories)[0]?.at(-1)).toBe(`NotSent: connection refused; candidates: ${ended}`)
    }).pipe(Effect.provide(on([fakeProvider("alpha", neverLeft), fakeProvider("costlier", { fee: 1_001n })])))
  )

  it.effect("say of a payout that found no provider why each was passed over; nothing is recorded of it", () =>
    Effect.gen(function* () {
      const ended = yield* trailed(pay("one"))
      expect(ended).toStrictEqual(["provider_error", "mute no_price; busy no_turn"])
      expect(yield* fakeRecords).toStrictEqual([])
    }).pipe(Effect.provide(on([fakeProvider("mute", { down: true }), fakeProvider("busy", { heldMs: 60_000 })])))
  )

  it.effect("say of a payout that its provider refused to price which kind of refusal that was", () =>
    Effect.gen(function* () {
      expect(yield* trailed(pay("one"))).toStrictEqual(["validation_failed", "alpha refused (party); beta not_asked"])
    }).pipe(Effect.provide(on([fakeProvider("alpha", { refusesQuotes: "party" }), fakeProvider("beta")])))
  )

  it.effect("of a payment that could not be opened name nobody as used", () =>
    Effect.gen(function* () {
      const capOn = (direction: AmountCap["direction"]): AmountCap => {
        return { mode: "live", direction, window: "day", currency: "UGX", amount: minor(1n) }
      }
      // Not yet set when the key is claimed: only the commit finds them full.
      let looks = 0
      const caps = Effect.sync(() => (looks++ % 2 === 0 ? [] : [capOn("payout"), capOn("collection")]))
      const refused = on([fakeProvider("alpha"), fakeProvider("beta")], { caps })
      const asked = Effect.gen(function* () {
        expect(yield* trailed(pay("one"))).toStrictEqual(["velocity_limit_exceeded", "alpha priced; beta not_asked"])
        expect(yield* trailed(charge("one"))).toStrictEqual(["velocity_limit_exceeded", "alpha not_asked; beta not_asked"])
        expect(yield* fakeRecords).toStrictEqual([])
      })
      yield* Effect.provide(asked, refused)
      const poor = on([fakeProvider("alpha"), fakeProvider("beta")], { float: 0n })
      expect(yield* Effect.provide(trailed(pay("one")), poor)).toStrictEqual([
        "insufficient_tenant_float",
        "alpha priced; beta not_asked"
      ])
    })
  )

  it.effect("of a tenant that is pinned are the others, too, and of a switched-off corridor all of them", () =>
    Effect.gen(function* () {
      const tenant = tenantNamed("acme", { pinned: "beta" })
      const providers = [fakeProvider("alpha"), fakeProvider("beta")]
      expect(yield* Effect.provide(trailed(pay("one")), on(providers, { tenant }))).toStrictEqual([
        "pending",
        "alpha pinned_elsewhere; beta used #1"
      ])
      const corridors = [corridorTo(["alpha", "beta"], { active: false })]
      expect(yield* Effect.provide(trailed(pay("one")), on(providers, { corridors }))).toStrictEqual([
        "corridor_unsupported",
        "alpha corridor_off; beta corridor_off"
      ])
    })
  )

  it.effect("whose sender is missing, or whose wallet is at another provider, say so", () =>
    Effect.gen(function* () {
      const providers = [fakeProvider("asking", { needsSender: true }), fakeProvider("alpha"), fakeProvider("beta")]
      const names = providers.map(({ name }) => name)
      expect(yield* Effect.provide(trailed(pay("one")), on(providers))).toStrictEqual([
        "pending",
        "asking no_sender; alpha used #1; beta not_asked"
      ])
      const corridors = [corridorTo(names, { method: "wallet", networks: [] })]
      expect(yield* Effect.provide(trailed(pay("one", { method: "wallet" })), on(providers, { corridors }))).toStrictEqual([
        "pending",
        "asking no_sender; alpha used #1; beta other_wallet"
      ])
    })
  )

  it.effect("are noted where a circuit holds the provider back, be it for money or for prices", () =>
    Effect.gen(function* () {
      const { through } = yield* Circuits
      const open = (provider: string, operation: "send" | "quote") =>
        Effect.forEach(Array.from({ length: 20 }), () =>
          through(
            { provider, mode: "live", operation },
            { call: Effect.void, verdict: () => "unreachable", instead: Effect.void }
          )
        )
      yield* open("alpha", "send")
      yield* open("beta", "quote")
      expect(yield* trailed(pay("one"))).toStrictEqual([
        "pending",
        "alpha circuit_open; beta circuit_open (quotes); gamma used #1"
      ])
    }).pipe(Effect.provide(on([fakeProvider("alpha"), fakeProvider("beta"), fakeProvider("gamma")])))
  )

  it.effect("of an estimate are those that were asked for a price; of a request without a trail none are written", () =>
    Effect.gen(function* () {
      const { estimate } = yield* Payouts
      const estimated = Effect.as(estimate(caller, { ...payoutCommand(), destination: null }), "estimated")
      expect(yield* trailed(estimated)).toStrictEqual(["estimated", "mute no_price; alpha priced"])
      expect(yield* pay("one")).toBe("pending")
      expect(yield* histories).toStrictEqual([["Opened", "Accepted"]])
    }).pipe(Effect.provide(on([fakeProvider("mute", { down: true }), fakeProvider("alpha")])))
  )
})

describe("a charge's candidates", () => {
  it.effect("say which attempt ended how, and which one it went to", () =>
    Effect.gen(function* () {
      const moved = "without no_account; alpha not_sent #1 (connection refused); full outside_limits; beta used #2"
      expect(yield* trailed(charge("one"))).toStrictEqual(["pending", moved])
      expect((yield* histories)[0]?.slice(0, 2)).toStrictEqual([
        "Opened: candidates: without no_account; alpha used #1; full not_asked; beta not_asked",
        `Rerouted: never sent to alpha, goes to beta: connection refused; candidates: ${moved}`
      ])
    }).pipe(
      Effect.provide(
        on([
          fakeProvider("without", {}, ["collections"]),
          fakeProvider("alpha", neverLeft),
          fakeProvider("full", { limits: most }),
          fakeProvider("beta")
        ])
      )
    )
  )
})
