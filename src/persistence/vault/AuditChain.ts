import { Redacted, Schema } from "effect"
import type { Vault } from "../../services/ports/Vault.ts"

// The hashes of the audit chain, each over every row before it. AuditTrail writes the chain, AuditLogPg verifies it.

/** A keyed hash of a text for a purpose, as the vault computes it. */
export type KeyedHash = Vault["Service"]["hash"]

export interface ChainedRow {
  readonly sequence: bigint
  /** In microseconds, the column's precision. */
  readonly atMicros: bigint
  readonly actor: string
  readonly action: string
  readonly subject: string
  readonly details: string
}

/** The end of the chain in the database. */
export const HeadRow = Schema.Struct({
  sequence: Schema.BigInt,
  hash: Schema.Uint8Array,
  /** Null until a gateway has created the key. */
  mac: Schema.NullOr(Schema.Uint8Array)
})
export type HeadRow = typeof HeadRow.Type

const ROW = "audit row"
const HEAD = "audit head"

/** Each field is preceded by its length in bytes, so that no two rows have the same text. */
const textOf = ({ action, actor, atMicros, details, sequence, subject }: ChainedRow): string =>
  [sequence.toString(), atMicros.toString(), actor, action, subject, details]
    .map((field) => `${Buffer.byteLength(field, "utf8")}:${field},`)
    .join("")

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** The hash of a row and, through the hash before it, of every row before it. */
export const keyedHash = (keyed: KeyedHash, previous: Uint8Array, link: ChainedRow): Uint8Array =>
  keyed(ROW, Redacted.make(`${hex(previous)},${textOf(link)}`))

/** Proves that a gateway made this the end of the chain. Stored for the newest row only: the database has no older ones. */
export const headMac = (keyed: KeyedHash, { hash, sequence }: Omit<HeadRow, "mac">): Uint8Array =>
  keyed(HEAD, Redacted.make(`${sequence},${hex(hash)}`))

/** Whether a gateway wrote this head. */
export const isAuthentic = (keyed: KeyedHash, head: HeadRow): boolean =>
  head.mac !== null && bytesEqual(head.mac, headMac(keyed, head))

export const bytesEqual = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0
