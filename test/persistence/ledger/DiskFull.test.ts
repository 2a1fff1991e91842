import { expect, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { appId, applyStep, given, openStep, position, succeeded } from "../../support/LedgerSteps.ts"
import { givenClaim } from "../../support/PaymentRequests.ts"
import { givenLedger } from "../../support/TestLedger.ts"

/** What PostgreSQL says of a statement that it could not write down: error 53100, and nothing of it was committed. */
const diskFull = new SqlError.SqlError({
  reason: new SqlError.UnknownError({
    cause: { code: "53100" },
    message: "could not extend file: No space left on device",
    operation: "query"
  })
})

/** A node whose money steps find the disk full while `disk.full` says so. */
const onDisk = (disk: { full: boolean }) => (sql: SqlClient.SqlClient) =>
  new Proxy(sql, {
    get: (target, name, receiver) =>
      name === "unsafe" && disk.full ? () => Effect.fail(diskFull) : Reflect.get(target, name, receiver)
  })

it.live("a money step that finds the disk full fails without moving anything, and succeeds once there is room", () =>
  Effect.gen(function* () {
    const { node, url } = yield* given(100_000n)
    const disk = { full: true }
    const full = yield* givenLedger(url, onDisk(disk))
    const { apply, open } = yield* Effect.provideContext(FloatLedger, full)
    yield* Effect.gen(function* () {
      const claims = yield* Effect.forEach(["a", "b"], (key) => givenClaim(appId, key))
      const openAll = Effect.forEach(claims, (claim) => Effect.exit(open(openStep(claim, 10_000n))), { concurrency: 2 })
      expect((yield* openAll).map(Exit.isFailure)).toStrictEqual([true, true])
      expect(yield* position(appId)).toStrictEqual([100_000n, 0n])
      disk.full = false
      expect(yield* openAll).toStrictEqual([Exit.succeed({ _tag: "Opened" }), Exit.succeed({ _tag: "Opened" })])
      expect(yield* position(appId)).toStrictEqual([78_000n, 22_000n])

      const steps = yield* Effect.forEach(claims, (claim) => applyStep(claim, succeeded))
      const applyAll = Effect.forEach(steps, (step) => Effect.exit(apply(step)), { concurrency: 2 })
      disk.full = true
      expect((yield* applyAll).map(Exit.isFailure)).toStrictEqual([true, true])
      expect(yield* position(appId)).toStrictEqual([78_000n, 22_000n])
      disk.full = false
      expect(yield* applyAll).toStrictEqual([Exit.succeed({ _tag: "Applied" }), Exit.succeed({ _tag: "Applied" })])
      expect(yield* position(appId)).toStrictEqual([78_000n, 0n])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)
