import { createHash } from "node:crypto"
import { Effect, Option, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Reference } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { Proposal, ProposalKind, ProposalStatus, waitsMs } from "../../domain/Proposal.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { NotCarriedOut, Proposals } from "../../services/ports/Proposals.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail, byteaText } from "../audit/AuditTrail.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { approvalSeal, fits, proposalSeal } from "../vault/AccessSeals.ts"

const columns = {
  ...Proposal.fields,
  details: Schema.fromJsonString(Proposal.fields.details),
  proposedAt: Moment,
  decidedAt: Schema.NullOr(Moment)
}
const proposals = rowsOf(Schema.Struct(columns))
const Seal = Schema.NullOr(Schema.Uint8Array)
const sealedProposals = rowsOf(Schema.Struct({ ...columns, proposalSeal: Seal, approvalSeal: Seal }))

const held = rowsOf(Schema.Struct({ id: Schema.String, status: ProposalStatus }))

const EXPIRED = "it expired"
const NOT_OURS = "no gateway wrote what was proposed, or who approved it: run gateway audit verify, and propose it anew"

/**
 * Proposals on PostgreSQL. `change_access` writes console_proposals, whose row is locked before anything is done for it. The
 * table's constraint `two_people` holds whatever is sent.
 */
export const ProposalsPg = layerOf(Proposals)(function* () {
  const sql = yield* SqlClient.SqlClient
  const { hash } = yield* Vault
  const trail = auditTrail(sql, hash)
  const columns = sql.literal(
    `id, kind, subject, details, proposed_by AS "proposedBy", proposed_at AS "proposedAt", status, decided_by AS "decidedBy", decided_at AS "decidedAt", note`
  )

  // A proposal belongs to an account, not to a name: one that is older than the account with its proposer's name belongs to
  // none. A newer release may have written a kind that this one does not know: here there is no such proposal.
  const find = Effect.fn("Proposals.find")((id: Reference) =>
    Effect.map(
      proposals(sql`SELECT ${columns} FROM console_proposals WHERE id = ${id} AND kind = ANY (${ProposalKind.literals})
        AND NOT EXISTS (SELECT FROM operators o WHERE o.name = proposed_by AND o.created_at > proposed_at)`),
      ([found]) => Option.fromUndefinedOr(found)
    )
  )

  const hold = (id: Reference) => held(sql`SELECT id, status FROM hold_proposals(${id}, NULL)`)

  /** Whether gateways wrote the proposal and, if it is approved, its approval: the row alone proves nothing. */
  const isOurs = Effect.fnUntraced(function* (id: Reference) {
    const [row] = yield* sealedProposals(sql`SELECT ${columns}, proposal_seal AS "proposalSeal", approval_seal AS "approvalSeal"
      FROM console_proposals WHERE id = ${id}`)
    if (row === undefined || !fits(row.proposalSeal, proposalSeal(hash, row))) return false
    if (row.decidedBy === null || row.decidedAt === null) return true
    return fits(row.approvalSeal, approvalSeal(hash, row, row.decidedBy, row.decidedAt))
  })

  return {
    find,

    open: Effect.fn("Proposals.open")((proposal, audit) => {
      const { details, id, kind, proposedAt, proposedBy, subject } = proposal
      const text = JSON.stringify(details)
      const to = { id, kind, subject, details: text, proposed_by: proposedBy, proposed_at: iso(proposedAt) }
      const sealed = { ...to, proposal_seal: byteaText(proposalSeal(hash, proposal)) }
      // The hash of the proposal, for `audit verify`: the details may be longer than an audit row shows.
      const proposed = createHash("sha256").update(text, "utf8").digest("hex")
      return trail.change(
        { change: "proposal open", to: sealed },
        { ...audit, details: { ...audit.details, proposal: id, proposed } }
      )
    }),

    list: Effect.fn("Proposals.list")(({ about, kinds }, limit) =>
      proposals(sql`SELECT ${columns} FROM console_proposals
      WHERE kind = ANY (${kinds}) ${about === null ? sql`` : sql`AND (subject = ${about} OR starts_with(subject, ${`${about}/`}))`}
      ORDER BY status IN ('open', 'approved') DESC, CASE WHEN status IN ('open', 'approved') THEN proposed_at END, proposed_at DESC, id
      LIMIT ${limit}`)
    ),

    decide: Effect.fn("Proposals.decide")(function* ({ at, by, id, note, status }, audit) {
      const found = yield* find(id)
      const isOwn = Option.exists(found, ({ proposedBy }) => proposedBy === by)
      if (Option.isNone(found) || isOwn !== (status === "withdrawn")) return Option.none()
      const isApproved = status === "approved"
      if (isApproved && !(yield* isOurs(id))) {
        yield* Effect.annotateLogs(Effect.logError(NOT_OURS), { access_rows: `proposal ${id}` })
        return Option.none()
      }
      const seal = isApproved ? byteaText(approvalSeal(hash, found.value, by, at)) : null
      const to = { id, status, decided_by: by, decided_at: iso(at), note, approval_seal: seal }
      const isDecided = yield* trail.change({ change: "proposal decide", to }, audit, hold(id))
      return isDecided ? yield* find(id) : Option.none()
    }),

    whileApproved: Effect.fn("Proposals.whileApproved")(
      function* <A>(id: Reference, act: Effect.Effect<A>) {
        const [proposal] = yield* hold(id)
        return proposal?.status === "approved" && (yield* isOurs(id)) ? Option.some(yield* act) : Option.none<A>()
      },
      sql.withTransaction,
      Effect.orDie
    ),

    finish: Effect.fn("Proposals.finish")((id, note, audit) =>
      trail.change({ change: "proposal finish", to: { id, note } }, audit, hold(id))
    ),

    carryOut: Effect.fn("Proposals.carryOut")(
      function* <A>(id: Reference, act: Effect.Effect<A, NotCarriedOut>, failure: AuditEntry) {
        const [proposal] = yield* hold(id)
        if (proposal?.status !== "approved") return Option.none<Result.Result<A, NotCarriedOut>>()
        const result = yield* Effect.result((yield* isOurs(id)) ? act : Effect.fail(new NotCarriedOut(NOT_OURS)))
        if (Result.isSuccess(result)) {
          yield* sql`SELECT end_proposal(${id})`
        } else {
          const why = result.failure.message
          const details = { ...failure.details, why }
          const isEnded = yield* trail.change({ change: "proposal fail", to: { id, note: why } }, { ...failure, details })
          if (!isEnded) return Option.none()
        }
        return Option.some(result)
      },
      sql.withTransaction,
      Effect.orDie
    ),

    expire: Effect.fn("Proposals.expire")(function* (at, limit) {
      const kinds = ProposalKind.literals
      const before = kinds.map((kind) => iso(at - waitsMs(kind)))
      const old = yield* proposals(sql`SELECT ${columns} FROM console_proposals
      WHERE status IN ('open', 'approved')
        AND proposed_at <= (SELECT w.before FROM unnest(${kinds}::text[], ${before}::timestamptz[]) AS w(kind, before) WHERE w.kind = console_proposals.kind)
      ORDER BY proposed_at, id LIMIT ${limit}`)
      yield* Effect.forEach(old, ({ id, proposedBy, status, subject }) => {
        const audit = { at, actor: "console", action: "proposal expire", subject: id, details: { about: subject } }
        // In the table's terms: the proposal has no decision, so it counts as withdrawn by its proposer.
        const withdrawn = { id, status: "withdrawn", decided_by: proposedBy, decided_at: iso(at), note: EXPIRED }
        return status === "open"
          ? trail.change({ change: "proposal decide", to: withdrawn }, audit, hold(id))
          : trail.change({ change: "proposal fail", to: { id, note: EXPIRED } }, audit, hold(id))
      })
      return old.length
    })
  }
})
