import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { momoPayout } from "../../test/support/RequestBodies.ts"
import { eventually, referenceOf } from "../../test/support/SignedClient.ts"
import { asOwner, givenStack, tenantOn, webhooksOf } from "../../test/support/Stack.ts"

/** On a machine that does much else. */
const WITHIN_MS = 240_000

it.live(
  "a word that only a newer release knows stops its own record or tenant at an older node, and nobody else",
  () =>
    Effect.gen(function* () {
      const { database, gateway } = yield* givenStack({ PROVIDER_TIMEOUT_MS: "15000", RECONCILER_SCHEDULE: "1h" })
      const [tenant, other, third] = [yield* tenantOn(gateway), yield* tenantOn(gateway), yield* tenantOn(gateway)]
      const owner = yield* asOwner(database)
      const strange = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010")))
      yield* owner`UPDATE transactions SET record = (record::jsonb || '{"status": "held"}')::json WHERE reference = ${strange}`
      yield* owner`UPDATE tenants SET capabilities = capabilities || '{teleport}' WHERE app_id = ${other.appId}`
      yield* owner`INSERT INTO float_positions (app_id, mode, currency) VALUES (${third.appId}, 'live', 'XTS')`
      expect((yield* tenant.get(`/v1/payouts/${strange}`)).status).toBe(500)
      const paid = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))
      yield* tenant.until(`/v1/payouts/${paid}`, ({ status }) => status === "successful")
      const listed = JSON.parse((yield* tenant.get("/v1/transactions")).text).data.items
      expect(listed.map(({ reference }: { readonly reference: string }) => reference)).toStrictEqual([paid])
      const payouts = yield* Effect.forEach([tenant, other, third], (one) => one.post("/v1/payouts", momoPayout("4321")))
      expect(payouts.map(({ status }) => status)).toStrictEqual([201, 500, 201])

      // An event of a type that is not known here is delivered like those that are due at the same time.
      const hooks = yield* Effect.forEach([tenant, third], (one) => webhooksOf(gateway, one))
      yield* Effect.forEach([tenant, third], (one, at) =>
        owner.withTransaction(
          Effect.gen(function* () {
            const [id, type] = [`NEWW0RD${at}`.padEnd(26, "0"), at === 0 ? "payout.teleported" : "payout.successful"]
            yield* owner`INSERT INTO events (app_id, id, mode, type, body, created_at) VALUES (${one.appId}, ${id}, 'live', ${type}, ${`{"type":"${type}"}`}, now())`
            yield* owner`INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
              VALUES (${one.appId}, ${id}, 'live', ${id}, 'due', now(), now())`
            yield* owner`INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at) VALUES (${one.appId}, 'live', now(), ${id}, now())`
          })
        )
      )
      const told = yield* Effect.forEach(hooks, ({ received }) =>
        eventually(
          Effect.sync(() => received.map(({ body }) => body)),
          (bodies) => bodies.some((body) => body.length < 40)
        )
      )
      expect(told.map((bodies) => bodies.filter((body) => body.length < 40))).toStrictEqual([
        [`{"type":"payout.teleported"}`],
        [`{"type":"payout.successful"}`]
      ])
    }),
  WITHIN_MS
)
