import { layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { Reference } from "../../../src/domain/Ids.ts"
import { Idempotency } from "../../../src/services/ports/Idempotency.ts"
import { LedgerVerification } from "../../../src/services/ports/LedgerVerification.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { referenceOf } from "../../support/SignedClient.ts"
import { Stack, tenantOn, verified, webhooksOf } from "../../support/Stack.ts"

const DAY = 24 * 3_600_000
const AGED_DAYS = 100
const clean = { ok: true, differences: [] }

layer(Stack.layer({ PROVIDER_TIMEOUT_MS: "15000" }), { excludeTestServices: true })("ledger verify on a busy gateway", (it) => {
  it.effect("finds no difference while requests, responses and callbacks come in", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 1_000_000n)
      yield* webhooksOf(gateway, tenant)
      const working = Effect.forEach(
        Array.from({ length: 24 }, (_, index) => index),
        (index) =>
          index % 2 === 0
            ? tenant.post("/v1/payouts", momoPayout(index % 3 === 0 ? "0001" : "1234"))
            : tenant.post("/v1/collections", momoCharge(String(3000 + index))),
        { concurrency: 4 }
      )
      const looking = Effect.replicateEffect(verified(gateway), 8)
      const [reports] = yield* Effect.all([looking, working], { concurrency: 2 })
      for (const { differences, ok } of reports) expect({ ok, differences }).toStrictEqual(clean)
    })
  )

  it.effect("finds no difference in what changes meanwhile", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const { verifyChanged, verifyWithin } = Context.get(gateway.context, LedgerVerification)
      // The float of a test is of long ago, and so has to be there when everything is verified.
      const tenant = yield* tenantOn(gateway, 1_000_000n)
      yield* webhooksOf(gateway, tenant)
      yield* verifyWithin({ goesOn: false, until: null, onStep: () => Effect.void })
      const working = Effect.forEach(
        Array.from({ length: 16 }, (_, index) => index),
        (index) => tenant.post("/v1/payouts", momoPayout(index % 3 === 0 ? "0001" : "1234")),
        { concurrency: 4 }
      )
      const looking = Effect.replicateEffect(verifyChanged({ since: null, onStep: () => Effect.void }), 4)
      const [reports] = yield* Effect.all([looking, working], { concurrency: 2 })
      const last = yield* verifyChanged({ since: null, onStep: () => Effect.void })
      for (const { differences, ok } of [...reports, last]) expect({ ok, differences }).toStrictEqual(clean)
      expect(last.seen).toBeGreaterThanOrEqual(16)
    })
  )

  it.effect("does not report keys and windows that were removed when due", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const sql = Context.get(gateway.context, SqlClient.SqlClient)
      const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))
      yield* tenant.until(`/v1/transactions/${reference}`, ({ status }) => status === "successful")
      const aged = `interval '${AGED_DAYS} days' WHERE app_id = '${tenant.appId}'`
      yield* sql.unsafe(`UPDATE transactions SET created_at = created_at - ${aged}`)
      yield* sql`UPDATE transactions SET record = (record::jsonb || '{"completedAt": 0}')::json WHERE reference = ${reference}`
      yield* sql.unsafe(`UPDATE idempotency_keys SET lease_until = 'epoch', created_at = created_at - ${aged}`)
      yield* sql.unsafe(`UPDATE counters SET starts_at = starts_at - ${aged}`)
      expect(yield* Context.get(gateway.context, VelocityLimits).prune(Date.now() - 8 * DAY, 1_000)).toBeGreaterThan(0)
      expect(yield* Context.get(gateway.context, Idempotency).prune(Date.now() - 90 * DAY, 1_000)).toBeGreaterThan(0)
      expect(yield* sql`SELECT 1 FROM idempotency_keys WHERE reference = ${reference}`).toStrictEqual([])
      // The record itself still says when it was made: what is asked here is what had its time.
      const { differences } = yield* verified(gateway)
      expect(differences.filter(({ rule }) => /key|window/.test(rule))).toStrictEqual([])

      // Long after, its provider says that it failed.
      const { needsReview } = yield* Context.get(gateway.context, Settlement).apply({
        reference: Reference.make(reference),
        fact: {
          _tag: "Refused",
          providerReference: null,
          kind: "other",
          failure: { code: "provider_rejected", message: "no" },
          note: "status failed"
        },
        actor: "callback"
      })
      expect(needsReview).toBe(true)
      const later = (yield* verified(gateway)).differences
      expect(later.filter(({ rule }) => /key|window/.test(rule))).toStrictEqual([])
    })
  )
})
