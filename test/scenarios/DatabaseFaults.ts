import { expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { momoPayout } from "../support/RequestBodies.ts"
import { eventually, said } from "../support/SignedClient.ts"
import { tenantOn } from "../support/Stack.ts"
import { ends, type Fault, fires, statusOf } from "./AlertFiring.ts"

/** What the database does wrong. */
export const databaseFaults: ReadonlyArray<Fault> = [
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
