import { expect, layer } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { type AppId, Reference } from "../../src/domain/Ids.ts"
import { OperatorName } from "../../src/domain/Operator.ts"
import { Approvals } from "../../src/services/approvals/Approvals.ts"
import { KeyApprovals } from "../../src/services/approvals/KeyApprovals.ts"
import { Operators } from "../../src/services/ports/Operators.ts"
import { Proposals } from "../../src/services/ports/Proposals.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { Vault } from "../../src/services/ports/Vault.ts"
import { forgedChange } from "../support/ForgedChange.ts"
import { auditEntry } from "../support/TestDatabase.ts"
import { asha, auditOf, biko, chidi, desks, fate, newTenant, refusal, waiting } from "./Desks.ts"

layer(desks)("a key in the console", (it) => {
  const wish = (appId: AppId) =>
    ({ appId, mode: "live", role: "tenant", label: "", addresses: [], note: "the old one leaks" }) as const
  const approved = Effect.gen(function* () {
    const appId = yield* newTenant
    yield* (yield* KeyApprovals).proposeIssue(wish(appId), { by: asha, at: 1 })
    const id = yield* waiting(appId)
    const { approve, issueKey } = yield* Approvals
    expect(yield* refusal(issueKey(id, { by: asha, at: 2 }))).toContain("after somebody else approved it")
    yield* approve(id, { by: biko, at: 2 })
    expect(yield* (yield* Tenants).keys(appId)).toEqual([])
    return { appId, id, issueKey }
  })

  it.effect(
    "is made once, for its proposer alone, after somebody else approved it, and its secrets are kept nowhere in the clear",
    () =>
      Effect.gen(function* () {
        const { appId, id, issueKey } = yield* approved
        expect(yield* refusal(issueKey(id, { by: biko, at: 3 }))).toContain("Its proposer issues it")
        const { apiKey, caller, signingSecret } = yield* issueKey(id, { by: asha, at: 3 })
        expect(yield* refusal(issueKey(id, { by: asha, at: 4 }))).toContain("once")
        const stored = Option.getOrThrow(yield* (yield* Tenants).signingKey(appId, caller.keyId))
        expect(stored.caller).toEqual({ appId, keyId: caller.keyId, mode: "live", role: "tenant" })
        expect(Buffer.from(stored.apiKeyHash)).toEqual(Buffer.from((yield* Vault).hash("api_key", apiKey)))
        expect(Redacted.value(stored.signingSecret)).toBe(Redacted.value(signingSecret))
        const rows = yield* auditOf(id, `${appId}/${caller.keyId}`)
        expect(rows.map(({ action, actor }) => [actor, action])).toEqual([
          ["console/asha", "key issue propose"],
          ["console/biko", "proposal approve"],
          ["console/asha", "key issue"]
        ])
        expect(rows[2]?.details).toMatchObject({ proposed_by: "asha", approved_by: "biko", proposal: id })
        const sql = yield* SqlClient.SqlClient
        const written =
          yield* sql`SELECT row_to_json(p)::text AS text FROM console_proposals p UNION ALL SELECT row_to_json(a)::text FROM audit_log a
        UNION ALL SELECT row_to_json(k)::text FROM api_keys k`
        for (const secret of [apiKey, signingSecret]) expect(JSON.stringify(written)).not.toContain(Redacted.value(secret))
      })
  )

  for (const moment of ["before", "after"] as const)
    it.effect(`is made once where the process died ${moment} it was made, and can be called off until then`, () =>
      Effect.gen(function* () {
        const { appId, id, issueKey } = yield* approved
        fate.dies = moment
        expect((yield* Effect.exit(issueKey(id, { by: asha, at: 3 })))._tag).toBe("Failure")
        fate.dies = null
        expect(yield* (yield* Tenants).keys(appId)).toEqual([])
        yield* issueKey(id, { by: asha, at: 4 })
        expect(yield* (yield* Tenants).keys(appId)).toHaveLength(1)
        const other = yield* approved
        yield* (yield* Approvals).dismiss(other.id, { by: chidi, at: 5 }, "asha has left")
        expect(yield* refusal(issueKey(other.id, { by: asha, at: 6 }))).toContain("once")
        const ended = Option.getOrThrow(yield* (yield* Proposals).find(other.id))
        expect([ended.status, ended.note]).toEqual(["failed", "chidi called it off: asha has left"])
        expect(yield* (yield* Tenants).keys(other.appId)).toEqual([])
      })
    )

  it.effect("that is held to networks is issued with them, and is no proposal that the release before could issue without", () =>
    Effect.gen(function* () {
      const appId = yield* newTenant
      const addresses = ["10.1.0.0/16", "192.0.2.7/32"]
      yield* (yield* KeyApprovals).proposeIssue({ ...wish(appId), addresses }, { by: asha, at: 1 })
      const id = yield* waiting(appId)
      const { details } = Option.getOrThrow(yield* (yield* Proposals).find(id))
      // The members that the release before needs, and takes for the whole.
      expect(["app_id", "key_id", "mode", "role"].filter((name) => !(name in details))).toStrictEqual(["role"])
      const { approve, issueKey } = yield* Approvals
      yield* approve(id, { by: biko, at: 2 })
      yield* issueKey(id, { by: asha, at: 3 })
      expect(yield* (yield* Tenants).keys(appId)).toMatchObject([{ role: "tenant", addresses }])
    })
  )

  it.effect("is revoked by two people, once", () =>
    Effect.gen(function* () {
      const { appId, id, issueKey } = yield* approved
      const { keyId } = (yield* issueKey(id, { by: asha, at: 3 })).caller
      const { proposeRevocation } = yield* KeyApprovals
      const { approve } = yield* Approvals
      const revocation = { appId, keyId, note: "leaked" }
      yield* proposeRevocation(revocation, { by: biko, at: 4 })
      expect(yield* refusal(proposeRevocation(revocation, { by: asha, at: 4 }))).toContain("waits already")
      const waits = yield* waiting(appId)
      expect(yield* refusal(approve(waits, { by: biko, at: 5 }))).toContain("somebody else")
      yield* approve(waits, { by: chidi, at: 5 })
      expect(Option.isNone(yield* (yield* Tenants).signingKey(appId, keyId))).toBe(true)
      expect(yield* refusal(proposeRevocation(revocation, { by: biko, at: 6 }))).toContain("it is revoked already")
      expect((yield* auditOf(`${appId}/${keyId}`)).at(-1)).toMatchObject({ actor: "console/chidi", action: "key revoke" })
    })
  )

  it.effect("that waits longest stands first: whoever proposes more pushes nothing off the list", () =>
    Effect.gen(function* () {
      const tenants = [yield* newTenant, yield* newTenant, yield* newTenant]
      const { proposeIssue } = yield* KeyApprovals
      yield* Effect.forEach(tenants, (appId, place) => proposeIssue(wish(appId), { by: asha, at: place + 1 }))
      const listed = yield* (yield* Proposals).list({ kinds: ["key issue"], about: null }, 100)
      const about = listed.filter(({ status }) => status === "open").map(({ subject }) => subject.split("/")[0])
      const waits = about.filter((one) => tenants.some((appId) => appId === one))
      expect(waits).toEqual(tenants)
    })
  )

  it.effect("is not made, and nothing is approved, where no gateway wrote what was proposed, or who said yes to it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { approve, issueKey } = yield* Approvals
      const proposals = yield* Proposals
      const appId = yield* newTenant
      yield* (yield* KeyApprovals).proposeIssue(wish(appId), { by: asha, at: 1 })
      const id = yield* waiting(appId)
      const yes = {
        status: "approved",
        decided_by: biko,
        decided_at: "1970-01-01T00:00:00.002Z",
        note: "",
        approval_seal: "\\x00"
      }
      expect(yield* forgedChange(sql, "proposal decide", { id, ...yes })).toBe(true)
      expect(yield* refusal(issueKey(id, { by: asha, at: 3 }))).toContain("no gateway wrote")
      const ended = Option.getOrThrow(yield* proposals.find(id))
      expect([ended.status, yield* (yield* Tenants).keys(appId)]).toEqual(["failed", []])
      const made = {
        ...ended,
        id: id.replace(/.$/, (last) => (last === "Z" ? "Y" : "Z")),
        proposed_by: asha,
        proposed_at: "1970-01-01T00:00:00.002Z"
      }
      const text = JSON.stringify({ ...ended.details, role: "admin" })
      expect(yield* forgedChange(sql, "proposal open", { ...made, details: text, proposal_seal: "\\x00" })).toBe(true)
      yield* approve(Reference.make(made.id), { by: biko, at: 3 }).pipe(Effect.flip)
      expect(Option.getOrThrow(yield* proposals.find(Reference.make(made.id))).status).toBe("open")
    })
  )

  it.effect("is not approved by an operator who was removed a moment ago", () =>
    Effect.gen(function* () {
      const appId = yield* newTenant
      yield* (yield* KeyApprovals).proposeIssue(wish(appId), { by: asha, at: 1 })
      const id = yield* waiting(appId)
      yield* (yield* Operators).remove(chidi, auditEntry({ action: "operator remove", subject: chidi, details: {} }))
      const { approve } = yield* Approvals
      expect(yield* refusal(approve(id, { by: chidi, at: 3 }))).toContain("decided already")
      yield* approve(id, { by: biko, at: 3 })
    })
  )

  it.effect("is neither proposed, rejected nor called off by an operator who was removed a moment ago", () =>
    Effect.gen(function* () {
      const operators = yield* Operators
      const dayo = OperatorName.make("dayo")
      const account = { name: dayo, role: "admin", createdAt: 0, tokenHash: new Uint8Array(32).fill(210) } as const
      yield* operators.add(account, auditEntry({ action: "operator add", subject: dayo, details: { role: "admin" } }))
      const waits = yield* newTenant
      yield* (yield* KeyApprovals).proposeIssue(wish(waits), { by: asha, at: 1 })
      const open = yield* waiting(waits)
      const { id } = yield* approved
      yield* operators.remove(dayo, auditEntry({ action: "operator remove", subject: dayo, details: {} }))
      const gone = { by: dayo, at: 4 }
      const { dismiss } = yield* Approvals
      for (const one of [open, id]) expect(yield* refusal(dismiss(one, gone, ""))).toContain("decided already")
      const proposals = yield* Proposals
      const found = yield* Effect.forEach([open, id], (one) => proposals.find(one))
      expect(found.map((one) => Option.getOrThrow(one).status)).toEqual(["open", "approved"])
      const other = yield* newTenant
      yield* refusal((yield* KeyApprovals).proposeIssue(wish(other), gone))
      const all = yield* proposals.list({ kinds: ["key issue"], about: other }, 10)
      expect(all).toEqual([])
    })
  )
})
