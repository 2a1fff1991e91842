import { Schema } from "effect"
import { configurationKinds } from "./ConfigurationChange.ts"
import { Reference } from "./Ids.ts"
import { Instant } from "./Instant.ts"
import { OperatorName } from "./Operator.ts"

/** The changes that need two people. */
export const ProposalKind = Schema.Literals([
  "review resolve",
  "float credit",
  "float debit",
  "key issue",
  "key revoke",
  ...configurationKinds
])
export type ProposalKind = typeof ProposalKind.Type

/**
 * Open: waits for a second person. Approved: a second person approved it, and it still has to be carried out. Done and failed:
 * it was carried out, or could not be; either is committed with the change itself. The other two are over without effect.
 */
export const ProposalStatus = Schema.Literals(["open", "approved", "done", "failed", "rejected", "withdrawn"])

/** A proposal by one person of the console, and its outcome. */
export const Proposal = Schema.Struct({
  id: Reference,
  kind: ProposalKind,
  /**
   * A transaction's reference, "shop/live/EXTERNAL_ID" for an adjustment, "shop/KEY_ID" for a key, "UG/UGX/payout/momo" for a
   * corridor, a tenant, or a provider after "provider/".
   */
  subject: Schema.String,
  /** As the audit log has them: never a secret, never a full number. */
  details: Schema.Record(Schema.String, Schema.String),
  proposedBy: OperatorName,
  proposedAt: Instant,
  status: ProposalStatus,
  decidedBy: Schema.NullOr(OperatorName),
  decidedAt: Schema.NullOr(Instant),
  /** Why it was rejected, or why it could not be carried out. */
  note: Schema.String
})
export type Proposal = typeof Proposal.Type

/** A proposal that is not carried out within this time expires: the circumstances have changed. */
export const PROPOSAL_WAITS_MS = 72 * 3_600_000
/**
 * A change of configuration expires sooner. The previous release does not know these kinds, and its nodes stop expiring
 * proposals of every kind once one that they do not know has waited for three days.
 */
export const CONFIGURATION_WAITS_MS = 48 * 3_600_000

export const waitsMs = (kind: ProposalKind): number =>
  configurationKinds.some((one) => one === kind) ? CONFIGURATION_WAITS_MS : PROPOSAL_WAITS_MS

export const hasExpired = ({ kind, proposedAt }: Pick<Proposal, "kind" | "proposedAt">, at: Instant): boolean =>
  at - proposedAt >= waitsMs(kind)
