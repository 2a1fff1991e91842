import { expect, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { Reference } from "../../src/domain/Ids.ts"
import { AuditLogPg } from "../../src/persistence/audit/AuditLogPg.ts"
import { auditTrail } from "../../src/persistence/audit/AuditTrail.ts"
import { Database } from "../../src/persistence/Database.ts"
import { OperatorsPg } from "../../src/persistence/operators/OperatorsPg.ts"
import { ProposalsPg } from "../../src/persistence/operators/ProposalsPg.ts"
import { RandomSourceLive } from "../../src/persistence/vault/RandomSourceLive.ts"
import { VaultPg } from "../../src/persistence/vault/VaultPg.ts"
import { Approvals } from "../../src/services/approvals/Approvals.ts"
import { ConfigurationApprovals } from "../../src/services/approvals/ConfigurationApprovals.ts"
import { FloatApprovals } from "../../src/services/approvals/FloatApprovals.ts"
import { KeyApprovals } from "../../src/services/approvals/KeyApprovals.ts"
import { ReviewApprovals } from "../../src/services/approvals/ReviewApprovals.ts"
import { ReviewFiles } from "../../src/services/approvals/ReviewFiles.ts"
import { AuditLog } from "../../src/services/ports/AuditLog.ts"
import { Proposals } from "../../src/services/ports/Proposals.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { Vault } from "../../src/services/ports/Vault.ts"
import { NotResolved, Review } from "../../src/services/settlement/Review.ts"
import { RulingFiles } from "../../src/services/settlement/RulingFiles.ts"
import { fake } from "../fakes/Fake.ts"
import { asRuntime } from "../support/Postgres.ts"
import { payout } from "../support/SampleTransactions.ts"
import { givenDatabase, masterKey, newReference } from "../support/TestDatabase.ts"
import { approvers, asha, biko } from "./Desks.ts"

/** The records that a person ruled on, and those of which the provider said something since. */
const ruled = new Set<string>()
const moved = new Set<string>()
/** The revision of a record; 1 where it is not here. */
const revisions = new Map<string, bigint>()
/** Runs in the commit of each ruling, before it ends. */
let during: Effect.Effect<void> = Effect.void

const review = Layer.effect(
  Review,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const trail = auditTrail(sql, (yield* Vault).hash)
    return yield* Effect.provide(
      Review,
      fake(Review, {
        resolve: Effect.fnUntraced(function* (reference, _resolution, audit) {
          if (moved.has(reference)) return yield* new NotResolved("the provider said something of it since")
          yield* during
          yield* Effect.orDie(sql.withTransaction(trail.write(audit)))
          ruled.add(reference)
          return payout({ reference })
        })
      })
    )
  })
)
const transactions = fake(Transactions, {
  history: () => Effect.succeed([]),
  byReference: (reference) =>
    Effect.succeed(
      Option.some({ transaction: payout({ reference, needsReview: true }), revision: revisions.get(reference) ?? 1n })
    )
})

const desk = Layer.unwrap(
  Effect.map(givenDatabase, (url) =>
    Approvals.layer.pipe(
      Layer.provideMerge(ReviewFiles.layer),
      Layer.provide(RulingFiles.layer),
      Layer.provide(
        Layer.mergeAll(
          review,
          transactions,
          fake(FloatApprovals, {}),
          fake(KeyApprovals, {}),
          fake(ConfigurationApprovals, {}),
          fake(ReviewApprovals, { needsTwo: () => true })
        )
      ),
      Layer.provideMerge(approvers),
      Layer.provideMerge(Layer.mergeAll(OperatorsPg, ProposalsPg, AuditLogPg)),
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(Layer.merge(Database.layer({ url: asRuntime(url) }), RandomSourceLive)),
      Layer.fresh
    )
  )
)

/** A proposal of a file with so many rows. */
const proposed = Effect.fnUntraced(function* (count: number) {
  const references = yield* Effect.forEach(Array.from({ length: count }), () => newReference)
  const text = ["reference,outcome", ...references.map((reference) => `${reference},successful`)].join("\n")
  const id = yield* (yield* ReviewFiles).propose(
    { text, evidence: "letter", seen: new Map(references.map((one) => [one, 1n])) },
    { by: asha, at: 1 }
  )
  return { id, references }
})
const found = Effect.fnUntraced(function* (id: Reference) {
  return Option.getOrThrow(yield* (yield* Proposals).find(id))
})
const endOfLog = Effect.fnUntraced(function* (id: Reference) {
  return (yield* (yield* AuditLog).list(100)).find(({ subject }) => subject === id)
})

layer(desk)("an approved file of rulings", (it) => {
  it.effect("rules no row any more once it is called off, and says how many it had ruled", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { approve, dismiss } = yield* Approvals
      const { id, references } = yield* proposed(12)
      const started = yield* Deferred.make<void>()
      const isOver = yield* Deferred.make<void>()
      const callOff = Deferred.await(started).pipe(
        Effect.andThen(dismiss(id, { by: asha, at: 3 }, "the letter is forged")),
        Effect.andThen(Deferred.succeed(isOver, undefined))
      )
      const calling = yield* Effect.forkChild(callOff, { startImmediately: true })
      // The server has other files' databases as well: a process that waits here has locks on tables of this one.
      const isWaiting = Effect.map(
        Effect.orDie(sql<{ count: number }>`SELECT count(*)::int AS count FROM pg_locks w
          WHERE NOT w.granted AND EXISTS (
            SELECT FROM pg_locks h JOIN pg_database d ON d.oid = h.database WHERE h.pid = w.pid AND d.datname = current_database()
          )`),
        ([row]) => (row?.count ?? 0) > 0
      )
      during = Effect.gen(function* () {
        yield* Deferred.succeed(started, undefined)
        while (!(yield* Deferred.isDone(isOver)) && !(yield* isWaiting)) yield* Effect.yieldNow
      })
      const { message } = yield* Effect.flip(approve(id, { by: biko, at: 2 }))
      yield* Fiber.join(calling)
      during = Effect.void
      const count = references.filter((reference) => ruled.has(reference)).length
      // PostgreSQL may give the next row its lock before the one that waits for it is awake.
      expect(count).toBeGreaterThan(0)
      expect(count).toBeLessThan(references.length)
      expect(message).toBe(`${count} row${count === 1 ? "" : "s"} ruled, the rest called off: its approval had ended.`)
      expect(yield* found(id)).toMatchObject({ status: "failed", note: "asha called it off: the letter is forged" })
    })
  )

  it.effect("is done with a note and an audit row that count its rows and say why some were left", () =>
    Effect.gen(function* () {
      const { id, references } = yield* proposed(3)
      moved.add(references[1] ?? "")
      yield* (yield* Approvals).approve(id, { by: biko, at: 2 })
      const note = "2 rows ruled, 1 left: line 3: the provider said something of it since"
      expect(yield* found(id)).toMatchObject({ status: "done", note })
      expect(yield* endOfLog(id)).toMatchObject({
        action: "proposal finish",
        actor: "console/biko",
        details: { ruled: "2", left: "1", why: note, proposed_by: "asha", approved_by: "biko" }
      })
    })
  )

  it.effect("rules only the rows that its summary counts: one of a revision to come is left", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* newReference, yield* newReference]
      const text = `reference,outcome\n${one},successful\n${other},successful`
      const seen = new Map([
        [one, 1n],
        [other, 2n]
      ])
      const id = yield* (yield* ReviewFiles).propose({ text, evidence: "letter", seen }, { by: asha, at: 1 })
      expect((yield* found(id)).details).toMatchObject({ successful: "1", not_ruled: "1" })
      revisions.set(other, 2n)
      yield* (yield* Approvals).approve(id, { by: biko, at: 2 })
      expect([ruled.has(one), ruled.has(other)]).toStrictEqual([true, false])
      expect(yield* found(id)).toMatchObject({
        status: "done",
        note: "1 row ruled, 1 left: line 3: it has changed since the file was looked at"
      })
    })
  )

  it.effect("has failed where no row could be ruled, and the permissions are as the audit log says", () =>
    Effect.gen(function* () {
      const { id, references } = yield* proposed(2)
      for (const reference of references) moved.add(reference)
      const { message } = yield* Effect.flip((yield* Approvals).approve(id, { by: biko, at: 2 }))
      expect(message).toMatch(/^0 rows ruled, 2 left: line 2: the provider said/)
      expect(yield* found(id)).toMatchObject({ status: "failed", note: message })
      expect((yield* endOfLog(id))?.details["why"]).toBe(message)
      expect((yield* (yield* AuditLog).verify(null)).access).toStrictEqual([])
    })
  )
})
