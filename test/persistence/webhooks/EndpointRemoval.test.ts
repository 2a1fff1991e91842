import { expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, Reference } from "../../../src/domain/Ids.ts"
import { DEFAULT_ENDPOINT, EndpointName } from "../../../src/domain/WebhookEndpoint.ts"
import { WebhookDeliveries } from "../../../src/services/ports/WebhookDeliveries.ts"
import { WebhookEndpoints } from "../../../src/services/ports/WebhookEndpoints.ts"
import { WebhookOutbox } from "../../../src/services/ports/WebhookOutbox.ts"
import { auditEntry, givenDatabase, givenNode } from "../../support/TestDatabase.ts"

const LEASE_MS = 30_000
const EVENT = Reference.make("1".padStart(26, "0"))
const acme = { appId: AppId.make("acme"), mode: "test" } as const
const erp = EndpointName.make("erp")

it.effect("deliveries to an endpoint that is removed are parked, too, where their event is committed beside the removal", () =>
  Effect.gen(function* () {
    const node = yield* givenNode(yield* givenDatabase)
    const [sql, endpoints] = [Context.get(node, SqlClient.SqlClient), Context.get(node, WebhookEndpoints)]
    const put = (name: EndpointName) =>
      endpoints.put({
        ...acme,
        name,
        url: `https://acme.example/${name}`,
        events: ["payout.failed"],
        enabled: true,
        secret: Redacted.make(`whsec_${name}`),
        rotatesUntil: null,
        at: 0,
        change: auditEntry()
      })
    const claimed = (now: number) =>
      Effect.map(Context.get(node, WebhookOutbox).claimDue(now, 99, 8, LEASE_MS), (all) =>
        all.map(({ endpoint }) => endpoint.name)
      )
    yield* put(DEFAULT_ENDPOINT)
    yield* put(erp)
    const [isWritten, isRemoved] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    // The step has seen the endpoint, and is committed when it is gone.
    const step = yield* sql`SELECT write_event('acme', 'test', NULL, to_timestamp(0.001), ${EVENT}, 'payout.failed', '{}')`.pipe(
      Effect.andThen(Deferred.succeed(isWritten, undefined)),
      Effect.andThen(Deferred.await(isRemoved)),
      (written) => sql.withTransaction(written),
      Effect.forkScoped
    )
    yield* Deferred.await(isWritten)
    yield* endpoints.remove({ ...acme, name: erp }, auditEntry())
    yield* Deferred.succeed(isRemoved, undefined)
    yield* Fiber.join(step)
    const due = sql`SELECT id FROM named_due_deliveries WHERE app_id = 'acme'`
    expect(yield* due).toHaveLength(1)
    expect(yield* claimed(10)).toStrictEqual([DEFAULT_ENDPOINT])
    expect(yield* due).toStrictEqual([])
    const parked = { ...acme, endpoint: erp, status: "parked", limit: 9, after: null } as const
    const { items } = yield* Context.get(node, WebhookDeliveries).list(parked)
    expect(items.map(({ completedAt, eventId }) => [eventId, completedAt])).toStrictEqual([[EVENT, 10]])
    // An endpoint of that name that is set later gets it on request alone.
    yield* put(erp)
    expect(yield* claimed(LEASE_MS + 100)).toStrictEqual([DEFAULT_ENDPOINT])
  })
)
