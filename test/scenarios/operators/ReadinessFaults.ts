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
    about: "commits that take three seconds, until they do not",
    alerts: ["DatabaseSlow"],
    story: Effect.fnUntraced(function* (operated, _) {
      const { gateway, page, sql } = operated
      const tenant = yield* tenantOn(gateway)
      yield* sql`CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(3); RETURN NULL; END'`
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
