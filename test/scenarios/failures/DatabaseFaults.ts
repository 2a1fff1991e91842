import { expect } from "@effect/vitest"
import { Clock, Context, Effect, Fiber, Option } from "effect"
import { iso } from "../../../src/domain/Instant.ts"
import { ClockWatch } from "../../../src/services/ports/ClockWatch.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { eventually, said } from "../../support/SignedClient.ts"
import { tenantOn } from "../../support/Stack.ts"
import { ends, type Fault, fires, statusOf } from "../operators/AlertFiring.ts"

/** What the database does wrong. */
export const databaseFaults: ReadonlyArray<Fault> = [
  {
    about: "a database for whose clock no gateway has vouched for eight days, until an operator confirms it",
    alerts: ["ClockInDoubt"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { gateway, run, sql } = operated
      yield* sql`UPDATE clock_watch SET trusted_until = now() - interval '8 days'`
      // As a sweep asks before it removes anything.
      expect(yield* Context.get(gateway.context, ClockWatch).look).toEqual(Option.none())
      yield* fires(operated, before, "ClockInDoubt")
      const doubt = expect.stringMatching(/^no gateway has vouched for the database's clock for 8\.0 days, since /)
      expect(yield* statusOf(operated)).toMatchObject({
        clock: { doubt },
        needs_attention: expect.arrayContaining([expect.stringMatching(/: nothing is removed until gateway clock confirm$/)])
      })
      const confirm = (time: number) => run("clock", "confirm", "--time", iso(time), "--reason", "it was stopped", "--json")
      const now = yield* Clock.currentTimeMillis
      const refused = yield* confirm(now - 600_000)
      expect([refused.code, refused.errors]).toEqual([1, expect.stringContaining("correct it first")])
      const confirmed = yield* confirm(now)
      expect(confirmed).toMatchObject({ code: 0, errors: "" })
      expect(JSON.parse(confirmed.output)).toMatchObject({ doubt: null, doubted_at: null })
      expect(yield* confirm(now)).toMatchObject({ code: 1, errors: expect.stringContaining("is not in doubt") })
      yield* ends(operated, "ClockInDoubt")
    })
  },
  {
    about: "commits that wait for a standby that is not there, until it is not asked for",
    alerts: ["CommitsWaiting"],
    story: Effect.fnUntraced(function* (operated, before) {
      const { elsewhere, gateway, name } = operated
      const tenant = yield* tenantOn(gateway)
      // Other databases of the server commit without a standby: in them synchronous_commit is off.
      yield* elsewhere.unsafe(`ALTER DATABASE "${name}" SET synchronous_commit = on`)
      yield* elsewhere.unsafe("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
      const mend = Effect.andThen(
        elsewhere.unsafe("ALTER SYSTEM RESET synchronous_standby_names"),
        elsewhere`SELECT pg_reload_conf()`
      )
      yield* Effect.addFinalizer(() => Effect.ignore(mend))
      yield* elsewhere`SELECT pg_reload_conf(), pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name}`
      const first = yield* Effect.forkScoped(eventually(tenant.post("/v1/payouts", momoPayout("1234"), "waits"), () => true))
      yield* fires(operated, before, "CommitsWaiting")
      expect(said(yield* tenant.post("/v1/payouts", momoPayout("1234"), "refused"))).toMatchObject({
        status: 500,
        code: "internal_error",
        class: "ambiguous"
      })
      expect(yield* statusOf(operated)).toMatchObject({
        node_here: { readyz: expect.stringMatching(/^commits wait for a standby .* docs\/runbooks\/commits-waiting\.md$/) }
      })
      yield* mend
      yield* ends(operated, "CommitsWaiting")
      yield* Fiber.join(first)
      yield* elsewhere.unsafe(`ALTER DATABASE "${name}" RESET synchronous_commit`)
      yield* eventually(tenant.post("/v1/payouts", momoPayout("1234"), "waits"), ({ status }) => status === 201)
    }, Effect.scoped)
  }
]
