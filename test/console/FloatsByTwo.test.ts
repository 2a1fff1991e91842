import { expect, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Result } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, Reference } from "../../src/domain/Ids.ts"
import { LARGEST_AMOUNT, minor } from "../../src/domain/Money.ts"
import type { OperatorName } from "../../src/domain/Operator.ts"
import { PROPOSAL_WAITS_MS } from "../../src/domain/Proposal.ts"
import { Approvals } from "../../src/services/approvals/Approvals.ts"
import { FloatApprovals } from "../../src/services/approvals/FloatApprovals.ts"
import { KeyApprovals } from "../../src/services/approvals/KeyApprovals.ts"
import { AuditLog } from "../../src/services/ports/AuditLog.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { LedgerVerification } from "../../src/services/ports/LedgerVerification.ts"
import { Operators } from "../../src/services/ports/Operators.ts"
import { Proposals } from "../../src/services/ports/Proposals.ts"
import { FloatAdjustments } from "../../src/services/tenants/FloatAdjustments.ts"
import { auditEntry } from "../support/TestDatabase.ts"
import { asha, auditOf, biko, chidi, desks, fate, newTenant, refusal, waiting } from "./Desks.ts"

const wishOf = (appId: AppId, amount = 12_500n, direction: "credit" | "debit" = "credit") => ({
  appId,
  mode: "live" as const,
  currency: "UGX" as const,
  direction,
  amount: minor(amount),
  externalId: "bank-17",
  label: "",
  note: "transfer 17"
})

const proposed = Effect.fnUntraced(function* (wish: ReturnType<typeof wishOf>, at = 1) {
  yield* (yield* FloatApprovals).propose(wish, { by: asha, at })
  return yield* waiting(wish.appId)
})
const waitingKey = Effect.fnUntraced(function* (appId: AppId) {
  const [found] = yield* (yield* Proposals).list({ kinds: ["key issue"], about: appId }, 1)
  return found?.id ?? Reference.make("")
})
/** So often it is looked whether two transactions wait for a row; by the one that they wait for, which takes no connection from them. */
const LOOKS = 10_000
const twoWait = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (let looks = 0; looks < LOOKS; looks++) {
    // A transaction sees who waits as it was when it first looked.
    yield* sql`SELECT pg_stat_clear_snapshot()`
    const rows =
      yield* sql`SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = current_database()`
    if (rows.length === 2) return
  }
  return yield* Effect.die(new Error("nobody waits"))
})
const stateOf = Effect.fnUntraced(function* (appId: AppId, id: Reference) {
  const [position] = yield* (yield* FloatLedger).positions(appId, "live")
  return [position?.available ?? 0n, Option.getOrThrow(yield* (yield* Proposals).find(id)).status] as const
})

layer(desks)("a credit or a debit in the console", (it) => {
  it.effect("is not approved after three days, ends then, and can be proposed anew", () =>
    Effect.gen(function* () {
      const { approve } = yield* Approvals
      const proposals = yield* Proposals
      const appId = yield* newTenant
      const id = yield* proposed(wishOf(appId))
      const late = 1 + PROPOSAL_WAITS_MS
      expect(yield* refusal(approve(id, { by: biko, at: late }))).toContain("It expired")
      expect(yield* proposals.expire(late - 1, 10)).toBe(0)
      expect(yield* proposals.expire(late, 10)).toBe(1)
      expect(yield* stateOf(appId, id)).toEqual([0n, "withdrawn"])
      const again = yield* proposed(wishOf(appId), 5)
      yield* approve(again, { by: biko, at: 6 })
      expect(yield* stateOf(appId, again)).toEqual([12_500n, "done"])
      expect((yield* auditOf(id)).map(({ action, actor }) => [actor, action])).toEqual([["console", "proposal expire"]])
      expect((yield* (yield* AuditLog).verify(null)).access?.filter(({ subject }) => subject.startsWith("proposal"))).toEqual([])
    })
  )

  it.effect("ends with the account of its proposer or of who approved it, whoever has the name next", () =>
    Effect.gen(function* () {
      const { approve, issueKey } = yield* Approvals
      const keyDesk = yield* KeyApprovals
      const operators = yield* Operators
      const add = (name: OperatorName, at: number, token: number) =>
        operators.add(
          { name, role: "admin", createdAt: at, tokenHash: new Uint8Array(32).fill(token) },
          auditEntry({ action: "operator add", subject: name, details: { role: "admin" } })
        )
      const remove = (name: OperatorName) =>
        operators.remove(name, auditEntry({ action: "operator remove", subject: name, details: {} }))
      const appId = yield* newTenant
      const open = yield* proposed(wishOf(appId))
      yield* keyDesk.proposeIssue(
        { appId, mode: "live", role: "tenant", label: "", addresses: [], note: "n" },
        { by: asha, at: 2 }
      )
      const key = yield* waitingKey(appId)
      yield* approve(key, { by: biko, at: 3 })
      expect(yield* remove(asha)).toBe(true)
      yield* add(asha, 9, 9)
      expect(yield* refusal(issueKey(key, { by: asha, at: 10 }))).toContain("account was removed")
      expect(yield* refusal(approve(open, { by: biko, at: 10 }))).toContain("account was removed")
      const all = yield* (yield* Proposals).list({ kinds: ["float credit", "key issue"], about: appId }, 10)
      expect(all.map(({ kind, note, status }) => [kind, status, note]).sort()).toEqual([
        ["float credit", "withdrawn", "the operator was removed"],
        ["key issue", "failed", "the operator asha was removed"]
      ])
      yield* remove(asha)
      expect((yield* (yield* AuditLog).verify(null)).access?.filter(({ subject }) => subject.startsWith("proposal"))).toEqual([])
      // The next tests are of one who was there before.
      yield* add(asha, 0, 10)
    })
  )

  it.effect("is posted once, after somebody else approved it, under both names, and the ledger agrees with the audit log", () =>
    Effect.gen(function* () {
      const { approve } = yield* Approvals
      const appId = yield* newTenant
      const id = yield* proposed(wishOf(appId))
      expect(yield* refusal(approve(id, { by: asha, at: 2 }))).toContain("somebody else has to approve it")
      expect(yield* stateOf(appId, id)).toEqual([0n, "open"])
      yield* approve(id, { by: biko, at: 3 })
      expect(yield* refusal(approve(id, { by: biko, at: 4 }))).toContain("decided already")
      expect(yield* stateOf(appId, id)).toEqual([12_500n, "done"])
      const rows = yield* auditOf(appId, id, `${appId}/live/bank-17`)
      expect(rows.map(({ action, actor }) => [actor, action])).toEqual([
        ["operator", "tenant create"],
        ["console/asha", "float propose"],
        ["console/biko", "proposal approve"],
        ["console/biko", "float credit"]
      ])
      const people = { proposed_by: "asha", approved_by: "biko", proposal: id }
      expect(rows[3]?.details).toMatchObject({ ...people, external_id: "bank-17", amount_minor: "12500", currency: "UGX" })
      const { differences } = yield* (yield* LedgerVerification).verify
      expect(differences).toEqual([])
    })
  )

  for (const moment of ["before", "after"] as const)
    it.effect(`is posted once, by another approver, where the process died ${moment} the posting`, () =>
      Effect.gen(function* () {
        const { approve } = yield* Approvals
        const appId = yield* newTenant
        const id = yield* proposed(wishOf(appId))
        fate.dies = moment
        const exit = yield* Effect.exit(approve(id, { by: biko, at: 2 }))
        fate.dies = null
        expect([exit._tag, ...(yield* stateOf(appId, id))]).toEqual(["Failure", 0n, "approved"])
        expect(yield* refusal(approve(id, { by: asha, at: 3 }))).toContain("somebody else")
        yield* approve(id, { by: chidi, at: 3 })
        expect(yield* stateOf(appId, id)).toEqual([12_500n, "done"])
        const rows = (yield* auditOf(appId)).filter(({ action }) => action === "float credit")
        expect(rows.map(({ actor, details }) => [actor, details["approved_by"]])).toEqual([["console/chidi", "biko"]])
      })
    )

  it.effect("is posted once where several approvers carry it out at once", () =>
    Effect.gen(function* () {
      const { approve } = yield* Approvals
      const appId = yield* newTenant
      const id = yield* proposed(wishOf(appId))
      fate.dies = "before"
      yield* Effect.exit(approve(id, { by: biko, at: 2 }))
      fate.dies = null
      const sql = yield* SqlClient.SqlClient
      const [held, waited] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      // Whoever posts waits for the tenant's row until both are at it.
      const holder = sql.withTransaction(
        sql`SELECT FROM tenants WHERE app_id = ${appId} FOR UPDATE`.pipe(
          Effect.andThen(Deferred.succeed(held, undefined)),
          Effect.andThen(twoWait),
          Effect.andThen(Deferred.succeed(waited, undefined))
        )
      )
      yield* Effect.forkChild(holder)
      yield* Deferred.await(held)
      const people = Effect.forEach([biko, chidi], (by) => Effect.result(approve(id, { by, at: 3 })), { concurrency: 2 })
      const both = yield* Effect.forkChild(people)
      yield* Deferred.await(waited)
      const results = yield* Fiber.join(both)
      expect(results.filter(Result.isSuccess)).toHaveLength(1)
      // The other one is told so: it found the row locked, and did not run into the trigger that keeps what is done.
      expect(results.filter(Result.isFailure).map(({ failure }) => failure.message)).toEqual([
        expect.stringContaining("decided already")
      ])
      expect(yield* stateOf(appId, id)).toEqual([12_500n, "done"])
    })
  )

  it.effect("fails, and says why, where the command has used the external id meanwhile, or the float does not cover it", () =>
    Effect.gen(function* () {
      const { approve } = yield* Approvals
      const { adjust } = yield* FloatAdjustments
      const byCommand = { at: 2, actor: "root" }
      const same = yield* newTenant
      const sameId = yield* proposed(wishOf(same))
      yield* adjust(wishOf(same), byCommand)
      expect(yield* refusal(approve(sameId, { by: biko, at: 3 }))).toContain("was posted before")
      expect(yield* stateOf(same, sameId)).toEqual([12_500n, "failed"])
      const again = (yield* FloatApprovals).propose(wishOf(same), { by: asha, at: 4 })
      expect(yield* refusal(again)).toMatch(/^The external id bank-17 was posted before, at .*: a credit of UGX 12500\.$/)
      const other = yield* newTenant
      const otherId = yield* proposed(wishOf(other))
      yield* adjust(wishOf(other, 1n), byCommand)
      expect(yield* refusal(approve(otherId, { by: biko, at: 3 }))).toContain("was used for another adjustment")
      expect(yield* stateOf(other, otherId)).toEqual([1n, "failed"])
      const poor = yield* newTenant
      const poorId = yield* proposed(wishOf(poor, 5n, "debit"))
      expect(yield* refusal(approve(poorId, { by: biko, at: 3 }))).toBe("only UGX 0 (0 minor) is available")
      expect(yield* stateOf(poor, poorId)).toEqual([0n, "failed"])
      const [failed] = (yield* auditOf(poorId)).slice(-1)
      expect([failed?.action, failed?.details["why"]]).toEqual(["proposal fail", "only UGX 0 (0 minor) is available"])
    })
  )

  it.effect("fails, and says why, where the float would be larger than what can be told of it", () =>
    Effect.gen(function* () {
      const { approve } = yield* Approvals
      const { adjust } = yield* FloatAdjustments
      const full = yield* newTenant
      yield* adjust({ ...wishOf(full, LARGEST_AMOUNT), externalId: "bank-16" }, { at: 1, actor: "root" })
      const id = yield* proposed(wishOf(full, 1n))
      expect(yield* refusal(approve(id, { by: biko, at: 2 }))).toBe(
        "the float would be larger than UGX 9007199254740991 (9007199254740991 minor), which is the most that it can hold"
      )
      expect(yield* stateOf(full, id)).toEqual([LARGEST_AMOUNT, "failed"])
    })
  )

  it.effect("waits once for an external id, and is not proposed for a tenant that is not there", () =>
    Effect.gen(function* () {
      const { propose } = yield* FloatApprovals
      const { dismiss } = yield* Approvals
      const appId = yield* newTenant
      const id = yield* proposed(wishOf(appId))
      expect(yield* refusal(propose(wishOf(appId), { by: biko, at: 2 }))).toContain("waits already")
      yield* dismiss(id, { by: biko, at: 3 }, "not on the statement")
      expect(yield* stateOf(appId, id)).toEqual([0n, "rejected"])
      yield* propose(wishOf(appId), { by: biko, at: 4 })
      expect(yield* refusal(propose(wishOf(AppId.make("nobody")), { by: biko, at: 4 }))).toBe("There is no tenant nobody.")
      const lookalike = { ...wishOf(appId), externalId: "aaa688mg9kt6bq76f4nm4bjrh5" }
      expect(yield* refusal(propose(lookalike, { by: biko, at: 4 }))).toContain("in small letters: write it in capitals")
    })
  )
})
