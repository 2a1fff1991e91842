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
 * Open: it waits. Approved: another person said yes, and it is still to be carried out. Done and failed: it was, or it could not be; both are in
 * the commit of whatever was done. Everything else is over, and nothing came of it.
 */
export const ProposalStatus = Schema.Literals(["open", "approved", "done", "failed", "rejected", "withdrawn"])

/** A proposal by one person of the console, and its outcome. */
export const Proposal = Schema.Struct({
  id: Reference,
  kind: ProposalKind,
  /** A transaction's reference, "shop/live/EXTERNAL_ID" of an adjustment, "shop/KEY_ID" of a key, "UG/UGX/payout/momo" of a corridor, a tenant, or a provider behind "provider/". */
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

/** A proposal that is not carried out by then has expired: its circumstances have changed. */
export const PROPOSAL_WAITS_MS = 72 * 3_600_000
/**
 * A change of configuration waits less: the release before does not know these kinds, and every proposal that has waited for three days, of whatever kind,
 * has to be over by then, or its nodes end none any more.
 */
export const CONFIGURATION_WAITS_MS = 48 * 3_600_000

export const waitsMs = (kind: ProposalKind): number =>
  configurationKinds.some((one) => one === kind) ? CONFIGURATION_WAITS_MS : PROPOSAL_WAITS_MS

export const hasExpired = ({ kind, proposedAt }: Pick<Proposal, "kind" | "proposedAt">, at: Instant): boolean =>
  at - proposedAt >= waitsMs(kind)
