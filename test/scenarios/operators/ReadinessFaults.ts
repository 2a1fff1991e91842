import { connect } from "node:net"
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { sampled } from "../../support/Exposition.ts"
import type { Operated } from "../../support/OperatedGateway.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { eventually } from "../../support/SignedClient.ts"
import { tenantOn } from "../../support/Stack.ts"
import { ends, type Fault, fires, statusOf } from "./AlertFiring.ts"

/** The gateway has to begin new sessions. */
const sessionsAnew = ({ elsewhere, name }: Operated) =>
  elsewhere`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name} AND application_name LIKE 'payment-gateway%'`

const SLOW_PAYOUTS = 2

/** As the tests' gateway is set up. */
export const CONNECTIONS_AN_ADDRESS = 128

/** Opens more than a node holds of one address, until they are closed by it or by us. */
const flooded = ({ gateway }: Operated) =>
  Effect.promise(async () => {
    const port = Number(gateway.host.split(":")[1])
    const sockets = Array.from({ length: CONNECTIONS_AN_ADDRESS + 8 }, () =>
      connect(port, "127.0.0.1").on("error", () => undefined)
    )
    await Promise.race(sockets.map((socket) => new Promise((closed) => socket.once("close", closed))))
    for (const socket of sockets) socket.destroy()
  })

/** Faults of a node, and of what it stands on, that keep it from serving or from serving well. */
export const readinessFaults: ReadonlyArray<Fault> = [
  {
    about: "a machine whose clock is set three seconds ahead, until it is set right",
    alerts: ["ClockOff"],
    story: Effect.fnUntraced(function* (operated, before) {
      yield* operated.setClock(3_000)
      yield* fires(operated, before, "ClockOff")
      expect(sampled(yield* operated.page, "gateway_ready", { reason: "clock_off" })).toBe(1)
      yield* operated.setClock(0)
      yield* ends(operated, "ClockOff")
    })
  },
  {
    about: "a machine whose clock is set forty seconds ahead, which gets no requests until it is set right",
    alerts: ["NotReady", "ClockOff"],
    story: Effect.fnUntraced(function* (operated, before) {
      yield* operated.setClock(40_000)
      yield* fires(operated, before, "NotReady")
      expect(yield* statusOf(operated)).toMatchObject({
        node_here: { readyz: expect.stringMatching(/^the clock of this machine is (39|40)\.\d s ahead of the database's$/) }
      })
      yield* operated.setClock(0)
      yield* ends(operated, "NotReady")
    })
  },
  {
    about: "a database that is read-only, until it is not",
    alerts: ["NotReady"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { elsewhere, name, page } = operated
      yield* elsewhere.unsafe(`ALTER DATABASE "${name}" SET default_transaction_read_only = on`)
      yield* sessionsAnew(operated)
      yield* eventually(page, (now) => sampled(now, "gateway_ready", { reason: "writes_refused" }) === 0)
      yield* fires(operated, before, "NotReady")
      yield* elsewhere.unsafe(`ALTER DATABASE "${name}" RESET default_transaction_read_only`)
      yield* sessionsAnew(operated)
      yield* eventually(page, (now) => sampled(now, "gateway_ready", { reason: "writes_refused" }) === 1)
      yield* ends(operated, "NotReady")
    })
  },
  {
    about: "a Redis that is gone, until it is back",
    alerts: ["RedisGone"],
    story: Effect.fnUntraced(function* (operated, before) {
      yield* Effect.promise(operated.redis.stop)
      yield* fires(operated, before, "RedisGone")
      yield* Effect.promise(operated.redis.start)
      yield* ends(operated, "RedisGone")
    })
  },
  {
    about: "connections over the bound of an address, until no more come",
    alerts: ["FloodAtCap"],
    story: Effect.fnUntraced(function* (operated, before) {
      yield* flooded(operated)
      yield* fires(operated, before, "FloodAtCap")
      yield* ends(operated, "FloodAtCap")
    })
  },
  {
    about: "an endpoint that is slower than what it is sent, until it has caught up",
    alerts: ["WebhookEndpointSlow"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { page, sql } = operated
      yield* sql`INSERT INTO webhook_endpoints (app_id, mode, url, events, enabled, secret_sealed, created_at, updated_at)
        VALUES ('slow', 'live', 'https://slow.example', '{}', true, '', now(), now())`
      yield* sql`INSERT INTO webhook_flights (app_id, mode, ids, leased_until)
        VALUES ('slow', 'live', '{D1}', ARRAY[now() + interval '10 minutes'])`
      yield* sql`INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at)
        VALUES ('slow', 'live', now() - interval '6 minutes', 'D1', now())`
      yield* fires(operated, before, "WebhookEndpointSlow")
      expect(sampled(yield* page, "gateway_outbox_late_seconds")).toBeLessThan(300)
      // Nothing is on its way to it: then it is not the tenant's matter.
      yield* sql`UPDATE webhook_flights SET leased_until = ARRAY[now()] WHERE app_id = 'slow'`
      yield* sql`UPDATE webhook_endpoints SET enabled = false WHERE app_id = 'slow'`
      yield* ends(operated, "WebhookEndpointSlow")
      yield* sql`DELETE FROM due_deliveries WHERE app_id = 'slow'`
      yield* sql`DELETE FROM webhook_endpoints WHERE app_id = 'slow'`
    })
  },
  {
    about: "commits that take two seconds, until they do not",
    alerts: ["DatabaseSlow"],
    story: Effect.fnUntraced(function* (operated) {
      const { gateway, page, sql } = operated
      const tenant = yield* tenantOn(gateway)
      yield* sql`CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2); RETURN NULL; END'`
      yield* sql`CREATE CONSTRAINT TRIGGER slow AFTER INSERT OR UPDATE ON transactions DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION take_long()`
      const before = yield* page
      yield* Effect.forEach(Array.from({ length: SLOW_PAYOUTS }), (_, at) =>
        tenant.post("/v1/payouts", momoPayout("1234"), `slow-${at}`)
      )
      yield* fires(operated, before, "DatabaseSlow")
      yield* sql`DROP TRIGGER slow ON transactions`
      yield* ends(operated, "DatabaseSlow")
    })
  }
]
