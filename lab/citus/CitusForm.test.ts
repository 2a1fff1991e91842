import { expect, layer, it as plain } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { afterAll, beforeAll } from "vitest"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { Database } from "../../src/persistence/Database.ts"
import { GatewayStatus } from "../../src/services/ports/GatewayStatus.ts"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import { Nonces } from "../../src/services/ports/Nonces.ts"
import { PartyHashRetention } from "../../src/services/ports/PartyHashRetention.ts"
import { TenantChanges } from "../../src/services/ports/TenantChanges.ts"
import { VelocityLimits } from "../../src/services/ports/VelocityLimits.ts"
import { WebhookDeliveries } from "../../src/services/ports/WebhookDeliveries.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { gateway as command } from "../../test/commands/Gateway.ts"
import { momoCharge, momoPayout } from "../../test/support/RequestBodies.ts"
import { referenceOf } from "../../test/support/SignedClient.ts"
import { asOwner, Stack, tenantOn, verified, webhooksOf } from "../../test/support/Stack.ts"
import { givenDatabase, masterKey } from "../../test/support/TestDatabase.ts"
import { sentForCitus, standInForCitus } from "./StandIn.ts"

const onStandIn = Stack.layer({ RECONCILER_SCHEDULE: "200ms,400ms,2s,10s,1h" }, {}, Effect.tap(givenDatabase, standInForCitus))

const DAY_MS = 86_400_000

// What is sent here is held against the rules at the end of the run, without what one server allows besides; and it has to do what it does there.
layer(onStandIn, { excludeTestServices: true })("a gateway whose database says that it is a cluster", (it) => {
  beforeAll(sentForCitus.begin)
  afterAll(sentForCitus.end)

  it.effect("moves money, tells of it, and answers for it", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const webhooks = yield* webhooksOf(gateway, tenant, ["payout.successful", "collection.successful", "fx.successful"])
      const paid = yield* tenant.post("/v1/payouts", momoPayout("1234"), "once")
      const again = yield* tenant.post("/v1/payouts", momoPayout("1234"), "once")
      const charged = yield* tenant.post("/v1/collections", momoCharge("0008"))
      expect([paid, again, charged].map(({ status }) => status)).toStrictEqual([201, 201, 201])
      expect(referenceOf(again)).toBe(referenceOf(paid))
      yield* tenant.until(`/v1/collections/${referenceOf(charged)}`, ({ status }) => status === "successful")
      const wish = { source_currency: "UGX", destination_currency: "KES", source_amount_minor: 50_000 }
      const quote = yield* tenant.post("/v1/fx/quote", wish)
      yield* tenant.post("/v1/fx/exchange", { quote_id: quote.body.data["quote_id"] })
      const types = [...(yield* webhooks.types(3))]
      expect(types.toSorted()).toStrictEqual(["collection.successful", "fx.successful", "payout.successful"])
      yield* tenant.post("/v1/webhooks/endpoint/test", {})
      yield* tenant.post("/v1/webhooks/recover", { since: new Date(0).toISOString() })
      for (const page of [
        "/v1/transactions",
        "/v1/transactions?completed_from=2026-01-01T00:00:00Z",
        "/v1/transactions?updated_from=2026-01-01T00:00:00Z",
        "/v1/fx/exchanges",
        "/v1/fx/exchanges?updated_from=2026-01-01T00:00:00Z&currency=KES",
        "/v1/beneficiaries",
        "/v1/float",
        "/v1/float/entries?currency=UGX&from=2026-01-01T00:00:00Z",
        "/v1/webhooks/deliveries"
      ])
        expect((yield* tenant.get(page)).status).toBe(200)
      expect((yield* verified(gateway)).differences).toStrictEqual([])
    })
  )

  it.effect("shows operators what there is, and does what they decide", () =>
    Effect.gen(function* () {
      const { database, gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const variables = { DATABASE_URL: Redacted.value(database), MASTER_KEY: Redacted.value(masterKey) }
      const run = (...args: ReadonlyArray<string>) =>
        Effect.map(command(variables, ...args, "--json"), ({ code, errors }) => (code === 0 ? "" : errors))
      const paid = yield* tenant.post("/v1/payouts", momoPayout("0010"))
      expect(paid.status).toBe(201)
      const reference = Reference.make(referenceOf(paid))
      const { apply } = Context.get(gateway.context, Settlement)
      const fact = { _tag: "Succeeded", providerReference: "E1", currency: "UGX", fee: null, note: "" } as const
      yield* apply({ reference, fact: { ...fact, amount: minor(9_999n) }, actor: "callback" })
      const answered = [
        yield* run("review", "list"),
        yield* run("review", "acknowledge", reference, "--note", "asked the provider"),
        yield* run("transaction", "show", reference),
        yield* run("review", "resolve", reference, "--outcome", "failed", "--evidence", "seen there"),
        yield* run("ledger", "verify")
      ]
      expect(answered).toStrictEqual(answered.map(() => ""))
      const { read, tenants, unanswered } = Context.get(gateway.context, GatewayStatus)
      yield* Effect.all([read, tenants(10), unanswered(10)])
    })
  )

  it.effect("pays again under a key that it forgot, with another reference", () =>
    Effect.gen(function* () {
      const { database, gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const owner = yield* asOwner(database)
      const forgetting = Effect.gen(function* () {
        const paid = yield* tenant.post("/v1/payouts", momoPayout("1234"), "kept for its time")
        yield* owner`DELETE FROM idempotency_keys WHERE key = 'kept for its time'`
        return paid
      })
      const payouts = [yield* forgetting, yield* forgetting, yield* forgetting]
      expect(payouts.map(({ status }) => status)).toStrictEqual([201, 201, 201])
      expect(new Set(payouts.map(referenceOf)).size).toBe(3)
    }).pipe(Effect.scoped)
  )

  it.effect("forgets what has had its time", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const before = Date.UTC(2020, 0) - DAY_MS
      const removed = yield* Effect.all([
        Context.get(gateway.context, Nonces).prune(before, 10),
        Context.get(gateway.context, Idempotency).prune(before, 10),
        Context.get(gateway.context, VelocityLimits).prune(before, 10),
        Context.get(gateway.context, PartyHashRetention).prune(before, 10),
        Context.get(gateway.context, TenantChanges).prune(before, 10)
      ])
      expect(removed).toStrictEqual([0, 0, 0, 0, 0])
      expect(yield* Context.get(gateway.context, WebhookDeliveries).purge(before, null, 10)).toStrictEqual({
        removed: 0,
        next: null
      })
    })
  )
})

plain.live("no gateway starts where only some tables of tenants are divided so far, whichever they are", () =>
  Effect.gen(function* () {
    const url = yield* givenDatabase
    yield* standInForCitus(url)
    const owner = yield* asOwner(url)
    const started = Database.migratedLayer({ databaseUrl: url, ownerUrl: null })
    const start = Effect.exit(Effect.provide(SqlClient.SqlClient, Layer.fresh(started)))
    expect(Exit.isSuccess(yield* start)).toBe(true)
    yield* owner`DELETE FROM pg_dist_partition WHERE logicalrelid = 'transactions'::regclass`
    const exit = yield* start
    expect(Exit.isFailure(exit) ? String(exit.cause) : "started").toContain("the database is distributed in part")
  }).pipe(Effect.scoped)
)
