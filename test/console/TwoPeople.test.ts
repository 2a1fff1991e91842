import { inspect } from "node:util"
import { expect, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Option, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { consoleOf } from "../../src/ConfigConsole.ts"
import { reader } from "../../src/ConfigRules.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { minor, ZERO } from "../../src/domain/Money.ts"
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
import { fake } from "../fakes/Fake.ts"
import { asRuntime } from "../support/Postgres.ts"
import { payout } from "../support/SampleTransactions.ts"
import { givenDatabase, masterKey, newReference } from "../support/TestDatabase.ts"
import { approvers, asha, biko, chidi } from "./Desks.ts"

const LARGE = minor(5_000_000n)
const SMALL = minor(5_000n)
const { approvalFrom } = consoleOf(reader({}, []), [], [])

/** Where the process dies, if it does: before the ruling's commit, or after it. */
let dies: "before" | "after" | null = null
const gone = Effect.die(new Error("the database went away"))
/** What the provider said something of since it was looked at. */
const moved = new Set<string>()
/** What the provider says something of right after it was read. */
const moving = new Set<string>()
const revisionOf = (reference: string) => (moved.has(reference) ? 2n : 1n)
/** Who ruled on it, as it was committed. */
const rulings = Effect.fnUntraced(function* (reference: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{
    actor: string
  }>`SELECT actor FROM audit_log WHERE subject = ${reference} AND action = 'review resolve' ORDER BY sequence`
  return rows.map(({ actor }) => actor)
}, Effect.orDie)
/** The commit of a ruling, with its audit row: refused for another revision than the record's, and once it was made. */
const review = Layer.effect(
  Review,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const trail = auditTrail(sql, (yield* Vault).hash)
    return yield* Effect.provide(
      Review,
      fake(Review, {
        resolve: Effect.fnUntraced(function* (reference, _resolution, audit, seen) {
          if (dies === "before") return yield* gone
          if (seen !== revisionOf(reference)) return yield* new NotResolved("the provider said something since")
          const made = yield* Effect.provideService(rulings(reference), SqlClient.SqlClient, sql)
          if (made.length > 0) return yield* new NotResolved("no review is open")
          yield* Effect.orDie(sql.withTransaction(trail.write(audit)))
          if (dies === "after") return yield* gone
          return payout({ reference })
        })
      })
    )
  })
)
/** A reference that begins with 0 is of a small payout. */
const transactions = fake(Transactions, {
  history: () => Effect.succeed([{ at: 2, actor: "reconciler", fact: "Succeeded", note: "", status: "pending" }]),
  byReference: (reference) => {
    const amount = reference.startsWith("0") ? SMALL : LARGE
    const revision = revisionOf(reference)
    if (moving.has(reference)) moved.add(reference)
    return Effect.succeed(Option.some({ transaction: payout({ reference, amount, principal: amount }), revision }))
  }
})

/** Whoever has every right to the tables. */
class Owner extends Context.Service<Owner, { readonly url: Redacted.Redacted }>()("test/Owner") {}

const desk = Layer.unwrap(
  Effect.map(givenDatabase, (url) =>
    Approvals.layer.pipe(
      Layer.provideMerge(ReviewApprovals.layer(approvalFrom)),
      Layer.provide(
        Layer.mergeAll(
          review,
          transactions,
          fake(FloatApprovals, {}),
          fake(KeyApprovals, {}),
          fake(ReviewFiles, {}),
          fake(ConfigurationApprovals, {})
        )
      ),
      Layer.provideMerge(approvers),
      Layer.provideMerge(Layer.mergeAll(OperatorsPg, ProposalsPg, AuditLogPg)),
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(Layer.merge(Database.layer({ url: asRuntime(url) }), RandomSourceLive)),
      Layer.provideMerge(Layer.succeed(Owner, Owner.of({ url }))),
      Layer.fresh
    )
  )
)

const large = Effect.map(newReference, (reference) => Reference.make(`A${reference.slice(1)}`))
const small = Effect.map(newReference, (reference) => Reference.make(`0${reference.slice(1)}`))
const paid = { outcome: "successful", evidence: "statement, line 7, 256772123456", amount: null, fee: null } as const

const opened = Effect.fnUntraced(function* () {
  const reference = yield* large
  expect(yield* (yield* ReviewApprovals).rule({ reference, resolution: paid, seen: 1n }, { by: asha, at: 1 })).toBe("proposed")
  const found = (yield* all).find(({ subject }) => subject === reference)
  return { reference, id: found?.id ?? Reference.make("") }
})
const statusOf = Effect.fnUntraced(function* (id: Reference) {
  return Option.getOrThrow(yield* (yield* Proposals).find(id)).status
})
const times = (reference: string) => Effect.map(rulings(reference), ({ length }) => length)
/** Everything that waits, or waited. */
const all = Effect.flatMap(Proposals, ({ list }) => list({ kinds: ["review resolve"], about: null }, 50))

layer(desk)("a ruling in the console", (it) => {
  it.effect("is made at once by one person below the amount, and waits for another from it on", () =>
    Effect.gen(function* () {
      const { needsTwo, rule } = yield* ReviewApprovals
      const reference = yield* small
      expect(yield* rule({ reference, resolution: paid, seen: 1n }, { by: asha, at: 1 })).toBe("resolved")
      expect(yield* rulings(reference)).toEqual(["console/asha"])
      const said = (change: object) =>
        Effect.flip(rule({ reference, resolution: { ...paid, ...change }, seen: 1n }, { by: asha, at: 1 }))
      expect((yield* said({ amount: LARGE })).message).toContain("no more than that can have been sent")
      expect((yield* said({ fee: LARGE })).message).toContain("a ruling books at most 5000")
      const [asked, fee] = [yield* large, minor(2_000n)]
      expect(yield* rule({ reference: asked, resolution: { ...paid, fee }, seen: 1n }, { by: asha, at: 1 })).toBe("proposed")
      const [waiting] = yield* all
      expect(waiting?.details).toMatchObject({
        asked_minor: String(LARGE),
        asked_currency: "UGX",
        fee_minor: "2000",
        fee_currency: "UGX"
      })
      const limit = approvalFrom.UGX
      const at = (amount: bigint) => needsTwo(payout({ amount: minor(amount), principal: minor(amount), heldFee: ZERO }), null)
      expect([at(limit - 1n), at(limit)]).toEqual([false, true])
    })
  )

  it.effect("is approved by somebody else, once, under that person's name, and holds no full number", () =>
    Effect.gen(function* () {
      const { approve } = yield* Approvals
      const { id, reference } = yield* opened()
      expect(yield* times(reference)).toBe(0)
      expect((yield* Effect.flip(approve(id, { by: asha, at: 2 })))._tag).toBe("NotDecided")
      expect([yield* times(reference), yield* statusOf(id)]).toEqual([0, "open"])
      yield* approve(id, { by: biko, at: 3 })
      expect(yield* rulings(reference)).toEqual(["console/biko"])
      expect((yield* Effect.flip(approve(id, { by: biko, at: 4 })))._tag).toBe("NotDecided")
      expect([yield* times(reference), yield* statusOf(id)]).toEqual([1, "done"])
      const rows = (yield* (yield* AuditLog).list(50)).filter(({ subject }) => subject === id || subject === reference)
      expect(rows.map(({ action, actor }) => [actor, action])).toEqual([
        ["console/biko", "review resolve"],
        ["console/biko", "proposal approve"],
        ["console/asha", "review propose"]
      ])
      expect(rows.slice(0, 2).map(({ details }) => details["proposed_by"])).toEqual(["asha", "asha"])
      expect(rows[0]?.details).toMatchObject({ outcome: "successful", approved_by: "biko", proposal: id })
      expect(JSON.stringify(rows.map(({ details }) => details))).not.toContain("256772123456")
    })
  )

  it.effect("is not found by a release that does not know its kind, and stays open for a newer one", () =>
    Effect.gen(function* () {
      const owner = yield* Layer.build(Layer.fresh(Database.layer({ url: (yield* Owner).url })))
      const sql = Context.get(owner, SqlClient.SqlClient)
      const { id: known } = yield* opened()
      const id = yield* newReference
      yield* sql`ALTER TABLE console_proposals DROP CONSTRAINT console_proposals_kind_check`
      yield* sql`INSERT INTO console_proposals SELECT (jsonb_populate_record(p, jsonb_build_object('id', ${id}::text, 'subject', 'new', 'kind', 'newer change'))).*
        FROM console_proposals p WHERE id = ${known}`
      const { approve, dismiss } = yield* Approvals
      for (const decided of [approve(id, { by: biko, at: 3 }), dismiss(id, { by: asha, at: 3 }, "")])
        expect((yield* Effect.flip(decided)).message).toContain("a newer release of the gateway made it")
      expect(yield* sql`SELECT status FROM console_proposals WHERE id = ${id}`).toStrictEqual([{ status: "open" }])
    })
  )

  it.effect("is refused by the database itself where both people are one, or where what was proposed is changed", () =>
    Effect.gen(function* () {
      const runtime = yield* SqlClient.SqlClient
      const owner = yield* Layer.build(Layer.fresh(Database.layer({ url: (yield* Owner).url })))
      const sql = Context.get(owner, SqlClient.SqlClient)
      const { id } = yield* opened()
      const forged = sql`UPDATE console_proposals SET status = 'approved', decided_by = proposed_by, decided_at = now() WHERE id = ${id}`
      expect(inspect(yield* Effect.flip(forged), { depth: 6 })).toContain("two_people")
      const foreign = sql`UPDATE console_proposals SET status = 'withdrawn', decided_by = 'biko', decided_at = now() WHERE id = ${id}`
      expect(inspect(yield* Effect.flip(foreign), { depth: 6 })).toContain("two_people")
      const nobody = sql`UPDATE console_proposals SET status = 'approved' WHERE id = ${id}`
      expect(inspect(yield* Effect.flip(nobody), { depth: 6 })).toContain("decided_once")
      const change = (assignment: string) => sql`UPDATE console_proposals SET ${sql.literal(assignment)} WHERE id = ${id}`
      for (const assignment of ["details = '{}'", "subject = 'x'", "proposed_by = 'biko'", "kind = 'key revoke'"])
        expect(inspect(yield* Effect.flip(change(assignment)), { depth: 6 })).toContain("what was proposed does not change")
      expect(inspect(yield* Effect.flip(runtime`DELETE FROM console_proposals`), { depth: 6 })).toContain("permission denied")
      expect(inspect(yield* Effect.flip(runtime`UPDATE console_proposals SET note = 'x'`), { depth: 6 })).toContain(
        "permission denied"
      )
      yield* (yield* Approvals).approve(id, { by: biko, at: 3 })
      expect(inspect(yield* Effect.flip(change("status = 'approved'")), { depth: 6 })).toContain("the proposal is over")
    })
  )

  it.effect("fails where the record changed since it was proposed, says what changed, and can be proposed anew", () =>
    Effect.gen(function* () {
      const { approve } = yield* Approvals
      const { rule } = yield* ReviewApprovals
      const { id, reference } = yield* opened()
      moved.add(reference)
      const why = "the provider said something since. Since it was proposed: reconciler said Succeeded, now pending"
      expect((yield* Effect.flip(approve(id, { by: biko, at: 3 }))).message).toBe(why)
      expect([yield* times(reference), yield* statusOf(id)]).toEqual([0, "failed"])
      const [row] = (yield* (yield* AuditLog).list(50)).filter(({ subject }) => subject === id)
      expect([row?.actor, row?.action]).toEqual(["console/biko", "proposal fail"])
      expect(row?.details).toEqual({ about: reference, proposed_by: "asha", approved_by: "biko", why })
      expect(yield* rule({ reference, resolution: paid, seen: 2n }, { by: asha, at: 4 })).toBe("proposed")
    })
  )

  it.effect("is not proposed of a revision that the record does not have, neither an earlier nor a coming one", () =>
    Effect.gen(function* () {
      const { rule } = yield* ReviewApprovals
      const reference = yield* large
      for (const seen of [0n, 2n]) {
        const refused = yield* Effect.flip(rule({ reference, resolution: paid, seen }, { by: asha, at: 1 }))
        expect(refused.message).toBe("It has changed since you looked at it: nothing was done. Look at it as it is now.")
      }
      expect((yield* all).some(({ subject }) => subject === reference)).toBe(false)
    })
  )

  it.effect("is made by one person only at the revision by which one was enough, and not at one that was still to come", () =>
    Effect.gen(function* () {
      const { rule } = yield* ReviewApprovals
      const reference = yield* small
      moving.add(reference)
      const refused = yield* Effect.flip(rule({ reference, resolution: paid, seen: 2n }, { by: asha, at: 1 }))
      expect(refused.message).toBe("It has changed since you looked at it: nothing was done. Look at it as it is now.")
      expect(yield* rulings(reference)).toEqual([])
    })
  )

  for (const moment of ["before", "after"] as const)
    it.effect(`is carried out once, by another approver, where the process died ${moment} the ruling's commit`, () =>
      Effect.gen(function* () {
        const { approve } = yield* Approvals
        const { rule } = yield* ReviewApprovals
        const { id, reference } = yield* opened()
        dies = moment
        const exit = yield* Effect.exit(approve(id, { by: biko, at: 2 }))
        dies = null
        expect([exit._tag, yield* times(reference), yield* statusOf(id)]).toEqual(["Failure", 0, "approved"])
        // Its proposer approves nothing, neither now, and the record is not locked: it can be proposed anew.
        expect((yield* Effect.flip(approve(id, { by: asha, at: 3 })))._tag).toBe("NotDecided")
        expect(yield* rule({ reference, resolution: paid, seen: 1n }, { by: asha, at: 3 })).toBe("proposed")
        yield* approve(id, { by: chidi, at: 4 })
        expect([yield* times(reference), yield* statusOf(id)]).toEqual([1, "done"])
        const other = (yield* all).find(({ status, subject }) => subject === reference && status === "open")
        expect((yield* Effect.flip(approve(other?.id ?? id, { by: biko, at: 5 }))).message).toContain("no review is open")
        expect([yield* times(reference), yield* statusOf(other?.id ?? id)]).toEqual([1, "failed"])
        const rows = (yield* (yield* AuditLog).list(50)).filter(({ subject }) => subject === reference)
        const [ruling] = rows.filter(({ action }) => action === "review resolve")
        expect(ruling?.actor).toBe("console/chidi")
        expect(ruling?.details).toMatchObject({ proposed_by: "asha", approved_by: "biko", proposal: id })
      })
    )

  it.effect("is carried out to its end where the page is closed meanwhile", () =>
    Effect.gen(function* () {
      const { approve } = yield* Approvals
      const { id, reference } = yield* opened()
      const fiber = yield* Effect.forkChild(approve(id, { by: biko, at: 2 }), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      expect([yield* times(reference), yield* statusOf(id)]).toEqual([1, "done"])
    })
  )

  it.effect("waits once for a record, and is withdrawn by its own proposer or rejected by somebody else", () =>
    Effect.gen(function* () {
      const { dismiss } = yield* Approvals
      const { rule } = yield* ReviewApprovals
      const { id, reference } = yield* opened()
      const again = rule({ reference, resolution: paid, seen: 1n }, { by: biko, at: 2 })
      expect((yield* Effect.flip(again))._tag).toBe("NotDecided")
      yield* dismiss(id, { by: asha, at: 3 }, "")
      expect(yield* statusOf(id)).toBe("withdrawn")
      expect(yield* again).toBe("proposed")
      const other = yield* opened()
      yield* dismiss(other.id, { by: biko, at: 3 }, "the statement says another thing")
      expect([yield* times(reference), yield* statusOf(other.id)]).toEqual([0, "rejected"])
    })
  )
})
