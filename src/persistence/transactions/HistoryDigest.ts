import { hash } from "node:crypto"
import { Schema } from "effect"
import { slotOf } from "../../domain/Ledger.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { CapturedCall } from "../../runtime/CapturedCall.ts"
import type { ApplyStep, OpenStep } from "../../services/ports/FloatLedger.ts"
import { storable } from "../connection/Columns.ts"
import { storedType } from "./NewerEventTypes.ts"
import { storedNote } from "./StoredNote.ts"

/**
 * The record's digest of its own history, from which `ledger verify` detects a line, a call or a provider's reference that no
 * step wrote. It is stored in the record, whose own digest is in a line that no gateway can change. It has no key: SECURITY.md
 * explains the consequences.
 */
export const HistoryDigest = Schema.Struct({
  /** The newest line that is covered. A step by a release without digests leaves it behind the record's revision. */
  to: Schema.Number,
  /** The XOR of the SHA-256 of each line, in base64. A line contains its record and its revision, so none can replace another. */
  sum: Schema.String,
  /** The ranges of lines that are not covered, because releases without digests wrote them. */
  gaps: Schema.optionalKey(Schema.Array(Schema.Array(Schema.Number))),
  /** The SHA-256 of the last money call, in base64; absent when there was none, or when it may be in a gap. */
  call: Schema.optionalKey(Schema.String),
  /** Earlier references at providers: the provider and its reference. */
  names: Schema.optionalKey(Schema.Array(Schema.Array(Schema.String)))
})
export type HistoryDigest = typeof HistoryDigest.Type

const isDigest = Schema.is(HistoryDigest)
const BEGINNING: HistoryDigest = { to: 0, sum: Buffer.alloc(32).toString("base64") }

/** The digest of each record that this process read or wrote, for its next step: validated only when a step needs it. */
const known = new WeakMap<object, unknown>()

/** Returns a record that was read, and remembers the stored digest of its history, if any. */
export const rememberingDigest = <A>(record: A, stored: unknown): A => {
  if (stored !== undefined && typeof record === "object" && record !== null) known.set(record, stored)
  return record
}

/** The digest of the history including this step. */
export const digestWith = (step: OpenStep | ApplyStep): HistoryDigest => {
  const [record, behind] = "next" in step ? [step.next, behindApply(step)] : [step.transaction, BEGINNING]
  const digest = counting(behind, record, step)
  known.set(record, digest)
  return digest
}

const behindApply = ({ before, expectedRevision, next, raw }: ApplyStep): HistoryDigest => {
  const last = known.get(before)
  const { call: lastCall, names: earlier = [], ...digest } = upTo(Number(expectedRevision), isDigest(last) ? last : undefined)
  const call = raw === null ? lastCall : callDigest(raw)
  const was = before.providerReference
  const isRenamed = was !== null && (before.provider !== next.provider || was !== next.providerReference)
  const names = isRenamed ? [...earlier, [before.provider, storable(was)]] : earlier
  return { ...digest, ...(call === undefined ? {} : { call }), ...(names.length === 0 ? {} : { names }) }
}

/** The digest at this revision. Lines that it does not cover become a gap, and the call, which may be among them, is dropped. */
const upTo = (revision: number, digest: HistoryDigest | undefined): HistoryDigest => {
  if (digest === undefined || digest.to > revision) return { ...BEGINNING, to: revision, gaps: [[1, revision]] }
  if (digest.to === revision) return digest
  const { call: _, ...rest } = digest
  return { ...rest, to: revision, gaps: [...(digest.gaps ?? []), [digest.to + 1, revision]] }
}

/** Adds one line. */
const counting = (
  digest: HistoryDigest,
  { appId, mode, reference }: Transaction,
  { entry, event, line }: OpenStep | ApplyStep
): HistoryDigest => {
  const to = digest.to + 1
  const eventHash =
    event === null ? null : hash("sha256", `${event.id}\n${storedType(event.type)}\n${storable(event.body)}`, "hex")
  const { actor, at, fact, status } = line
  const words = [appId, reference, String(to), mode, String(at), actor, fact, storedNote(line), status]
  const postings = entry?.postings ?? []
  const columns = (["currency", "account", "amount"] as const).map((name) => postings.map((posting) => posting[name]).join(" "))
  const slot = entry === null ? null : slotOf(entry)
  const one = hash("sha256", fieldsText([...words, slot, entry?.phase ?? null, ...columns, eventHash]), "buffer")
  const sum = Buffer.from(digest.sum, "base64").map((byte, at) => byte ^ (one[at] ?? 0))
  return { ...digest, to, sum: Buffer.from(sum).toString("base64") }
}

const callDigest = ({ request, response }: CapturedCall): string =>
  hash("sha256", fieldsText([request, response].map(storable)), "base64")

/** Each field is preceded by its length, so that no two lines have the same text. */
const fieldsText = (fields: ReadonlyArray<string | null>): string =>
  fields.map((field) => (field === null ? "-" : `${Buffer.byteLength(field)}:${field}`)).join(",")
