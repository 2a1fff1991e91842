import { timingSafeEqual } from "node:crypto"
import { Redacted } from "effect"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { Operator, OperatorName } from "../../domain/Operator.ts"
import type { Proposal } from "../../domain/Proposal.ts"
import { type NewKey } from "../../services/ports/Tenants.ts"
import { hex, type KeyedHash } from "./AuditChain.ts"

// A seal proves that a gateway wrote the whole row: an attacker with the database alone can make none for another text or row.

/** Of everything that determines a key's rights and identifies it. */
export const keySeal = (keyed: KeyedHash, key: NewKey): Uint8Array => {
  const { addresses, apiKeyHash, caller, createdAt, label, signingSecret } = key
  const fields = [
    caller.appId,
    caller.keyId,
    caller.mode,
    caller.role,
    iso(createdAt),
    hex(apiKeyHash),
    Redacted.value(signingSecret)
  ]
  // A key without a label and without network limits has the seal from before these existed.
  return label === "" && addresses.length === 0
    ? sealOf(keyed, "access seal 1 key", fields)
    : sealOf(keyed, "access seal 2 key", [...fields, label, ...addresses])
}

/** An operator of the console: seals that this token belongs to this name, with this role, since then. */
export const operatorSeal = (
  keyed: KeyedHash,
  { createdAt, name, role, tokenHash }: Operator & { readonly tokenHash: Uint8Array }
): Uint8Array => sealOf(keyed, "access seal 1 operator", [name, role, iso(createdAt), hex(tokenHash)])

type Proposed = Pick<Proposal, "id" | "kind" | "subject" | "details" | "proposedBy" | "proposedAt">

/** Seals the whole proposal of one person. */
export const proposalSeal = (keyed: KeyedHash, proposal: Proposed): Uint8Array =>
  sealOf(keyed, "access seal 1 proposal", proposedFields(proposal))

/** Seals the approval of exactly this proposal by another person. */
export const approvalSeal = (keyed: KeyedHash, proposal: Proposed, by: OperatorName, at: Instant): Uint8Array =>
  sealOf(keyed, "access seal 1 approval", [...proposedFields(proposal), by, iso(at)])

const proposedFields = ({ details, id, kind, proposedAt, proposedBy, subject }: Proposed): ReadonlyArray<string> => [
  id,
  kind,
  subject,
  JSON.stringify(details),
  proposedBy,
  iso(proposedAt)
]

export const fits = (seal: Uint8Array | null, expected: Uint8Array): boolean =>
  seal !== null && seal.length === expected.length && timingSafeEqual(seal, expected)

/** The form and its version are in the purpose, and each field is preceded by its length, so that no two rows have the same text. */
const sealOf = (keyed: KeyedHash, purpose: string, fields: ReadonlyArray<string>): Uint8Array =>
  keyed(purpose, Redacted.make(fields.map((field) => `${Buffer.byteLength(field, "utf8")}:${field},`).join("")))

/** Includes the place, so that a secret that is copied to another key's row cannot be opened there. */
export const secretOf = (appId: string, keyId: string): string => `signing_secret ${appId}/${keyId}`
