import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { bankPayout, momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf, said } from "../../support/SignedClient.ts"
import { tenantOn } from "../../support/Stack.ts"
import { ends, type Fault, fired, fires, neverExecuted, statusOf } from "../operators/AlertFiring.ts"

/** What a provider does wrong. */
export const providerFaults: ReadonlyArray<Fault> = [
  {
    about: "a provider that refuses connections, seen after three payouts, until it accepts them",
    alerts: ["ProviderFailing"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { gateway, simulator } = operated
      const tenant = yield* tenantOn(gateway)
      const setDown = (down: boolean) => Effect.promise(() => simulator.control("POST", "/down", { provider: "eversend", down }))
      yield* setDown(true)
      const refused = yield* Effect.replicateEffect(tenant.post("/v1/payouts", momoPayout("1234")), 3)
      expect(refused.map(said)).toMatchObject(Array.from({ length: 3 }, () => ({ status: 503, code: "provider_error" })))
      yield* fires(operated, before, "ProviderFailing")
      yield* setDown(false)
      yield* ends(operated, "ProviderFailing")
    })
  },
  {
    about: "a provider that turns every call away, until it takes them again",
    alerts: ["ProviderTurnsAway"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { gateway, simulator } = operated
      const tenant = yield* tenantOn(gateway)
      const setRate = (calls_per_second: number | null) =>
        Effect.promise(() =>
          simulator.control("POST", "/rate", { provider: "eversend", calls_per_second, retry_after_seconds: 0 })
        )
      yield* setRate(0)
      const away = yield* Effect.replicateEffect(tenant.post("/v1/payouts", momoPayout("1234")), 5)
      expect(away.map(said)).toMatchObject(Array.from({ length: 5 }, () => ({ status: 503, code: "provider_error" })))
      yield* fires(operated, before, "ProviderTurnsAway")
      expect(yield* fired(operated, before)).not.toContain("ProviderFailing")
      yield* setRate(null)
      yield* ends(operated, "ProviderTurnsAway")
    })
  },
  {
    about: "a wallet at a provider that is too small for a payout, until no more are refused",
    alerts: ["WalletEmpty"],
    story: Effect.fnUntraced(function* (operated, before) {
      const tenant = yield* tenantOn(operated.gateway)
      const refused = tenant.post("/v1/payouts", momoPayout("0013"), "stored-refusal")
      expect(said(yield* refused)).toMatchObject({ code: "insufficient_wallet_float" })
      yield* fires(operated, before, "WalletEmpty")
      yield* ends(operated, "WalletEmpty")
      // The stored response says nothing about the wallet now.
      const replayed = yield* operated.page
      expect(said(yield* refused)).toMatchObject({ code: "insufficient_wallet_float" })
      expect(yield* fired(operated, replayed)).not.toContain("WalletEmpty")
      // Most providers accept the payout first, and a poll learns that their wallet was too small.
      const accepted = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010")))
      yield* neverExecuted(operated, accepted, "pool")
      yield* fires(operated, replayed, "WalletEmpty")
      yield* ends(operated, "WalletEmpty")
    })
  },
  {
    about: "a provider that takes payouts and does not answer, until it answers again",
    alerts: ["ProviderSilent", "CircuitOpen"],
    story: Effect.fnUntraced(function* (operated, before) {
      const tenant = yield* tenantOn(operated.gateway)
      const silent = Array.from({ length: 5 }, (_, at) => momoPayout("0004", { amount_minor: 1_000 + at }))
      yield* Effect.forEach(silent, (body) => tenant.post("/v1/payouts", body), { concurrency: "unbounded" })
      yield* fires(operated, before, "ProviderSilent")
      yield* fires(operated, before, "CircuitOpen")
      expect(yield* statusOf(operated)).toMatchObject({
        needs_attention: expect.arrayContaining(["held back by this node: eversend live send"]),
        node_here: { readyz: "ok", circuits_open: ["eversend live send"] }
      })
      yield* eventually(tenant.post("/v1/payouts", momoPayout("1234")), ({ status }) => status === 201)
      yield* ends(operated, "CircuitOpen")
      yield* ends(operated, "ProviderSilent")
    })
  },
  {
    about: "payouts to banks that the provider refuses, first a few and then many, until no more come",
    alerts: ["FewSucceed", "SuccessRateFell"],
    story: Effect.fnUntraced(function* (operated) {
      const tenant = yield* tenantOn(operated.gateway, 9_000_000n)
      const refused = (times: number) =>
        Effect.forEach(Array.from({ length: times }), () => tenant.post("/v1/payouts", bankPayout("0001")), { concurrency: 8 })
      // The first of a corridor makes its counters.
      yield* refused(1)
      const before = yield* operated.page
      yield* refused(2)
      expect(yield* fired(operated, before)).not.toContain("FewSucceed")
      yield* refused(6)
      yield* fires(operated, before, "FewSucceed")
      expect(yield* fired(operated, before)).not.toContain("SuccessRateFell")
      yield* refused(45)
      yield* fires(operated, before, "SuccessRateFell")
      yield* ends(operated, "SuccessRateFell")
      yield* ends(operated, "FewSucceed")
    })
  },
  {
    about: "a payout of an account that is in no settings",
    alerts: ["AccountUnset"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { gateway, sql } = operated
      const tenant = yield* tenantOn(gateway)
      const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010")))
      const sentWith = (account: string) => sql`
        UPDATE transactions SET record = jsonb_set(record::jsonb, '{account}', to_jsonb(${account}::text))::json WHERE reference = ${reference}`
      const [own] = yield* sql<{
        account: string
      }>`SELECT record ->> 'account' AS account FROM transactions WHERE reference = ${reference}`
      yield* sentWith("0123456789abcdef")
      yield* sql`UPDATE open_work SET next_poll_at = now() WHERE reference = ${reference}`
      yield* fires(operated, before, "AccountUnset")
      yield* sentWith(own?.account ?? "")
      yield* neverExecuted(operated, reference)
    })
  }
]
