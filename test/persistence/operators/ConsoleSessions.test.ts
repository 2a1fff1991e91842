import { it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { OperatorName } from "../../../src/domain/Operator.ts"
import { AuditLogPg } from "../../../src/persistence/audit/AuditLogPg.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { ConsoleSessionsPg } from "../../../src/persistence/operators/ConsoleSessionsPg.ts"
import { OperatorsPg } from "../../../src/persistence/operators/OperatorsPg.ts"
import { VaultPg } from "../../../src/persistence/vault/VaultPg.ts"
import { AuditLog } from "../../../src/services/ports/AuditLog.ts"
import { ConsoleSessions } from "../../../src/services/ports/ConsoleSessions.ts"
import { Operators } from "../../../src/services/ports/Operators.ts"
import { waitsForLock } from "../../support/LockWaits.ts"
import { auditEntry, givenDatabase, masterKey } from "../../support/TestDatabase.ts"

const limits = { idleMs: 60_000, longestMs: 600_000 }
const name = OperatorName.make("amina")
const tokenHash = new Uint8Array(32).fill(1)
const session = { tokenHash, operator: name, at: 1_000, replaces: null }

const givenConsole = (url: Redacted.Redacted) =>
  Layer.build(
    Layer.mergeAll(ConsoleSessionsPg, OperatorsPg, AuditLogPg).pipe(
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(Database.layer({ url })),
      Layer.fresh
    )
  )
type Console = Effect.Success<ReturnType<typeof givenConsole>>

/** An operator is removed, and before the removal can end, this happens at another node. */
const whileRemoved = Effect.fnUntraced(function* <A>(
  before: (sessions: ConsoleSessions["Service"]) => Effect.Effect<unknown>,
  meanwhile: (sessions: ConsoleSessions["Service"]) => Effect.Effect<A>
) {
  const url = yield* givenDatabase
  const [one, other, third]: ReadonlyArray<Console> = yield* Effect.all([givenConsole(url), givenConsole(url), givenConsole(url)])
  if (one === undefined || other === undefined || third === undefined) return yield* Effect.die(new Error("there are three"))
  yield* Context.get(one, Operators).add({ name, role: "viewer", createdAt: 500, tokenHash: new Uint8Array(32) }, auditEntry())
  yield* before(Context.get(one, ConsoleSessions))
  const sql = Context.get(third, SqlClient.SqlClient)
  const [isHeld, isFree] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const holder = yield* sql`SELECT FROM audit_head_locked()`.pipe(
    Effect.andThen(Deferred.succeed(isHeld, undefined)),
    Effect.andThen(Deferred.await(isFree)),
    sql.withTransaction,
    Effect.forkScoped
  )
  yield* Deferred.await(isHeld)
  const removing = yield* Effect.forkScoped(Context.get(one, Operators).remove(name, auditEntry({ action: "operator remove" })))
  yield* waitsForLock(sql)
  const doing = yield* Effect.forkScoped(meanwhile(Context.get(other, ConsoleSessions)))
  yield* waitsForLock(sql, 2)
  yield* Deferred.succeed(isFree, undefined)
  yield* Fiber.join(holder)
  expect(yield* Fiber.join(removing)).toBe(true)
  yield* Fiber.join(doing)
  const actions = (yield* Context.get(one, AuditLog).list(1)).map(({ action }) => action)
  return { actions, found: yield* Context.get(one, ConsoleSessions).find(tokenHash, 1_001, limits, false) }
})

describe("an operator is removed", () => {
  it.effect("while the operator logs in, and no session is begun", () =>
    Effect.gen(function* () {
      const logIn = (sessions: ConsoleSessions["Service"]) =>
        sessions.begin(session, limits, auditEntry({ action: "console log-in" }))
      const { actions, found } = yield* whileRemoved(() => Effect.void, logIn)
      expect(found._tag).toBe("None")
      expect(actions).toEqual(["operator remove"])
    })
  )

  it.effect("while the operator logs out", () =>
    Effect.gen(function* () {
      const { found } = yield* whileRemoved(
        (sessions) => sessions.begin(session, limits, auditEntry()),
        (sessions) => sessions.end(tokenHash, auditEntry({ action: "console log-out" }))
      )
      expect(found._tag).toBe("None")
    })
  )
})
