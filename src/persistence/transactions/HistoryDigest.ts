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
 * The record's digest of its own history, so that `ledger verify` finds a line, a call or a provider's reference that no step wrote. It
 * stands in the record, whose own digest stands in a line that no gateway can change. It has no key: SECURITY.md has the consequences.
 */
export const HistoryDigest = Schema.Struct({
  /** The newest line that is counted. A step of a release that keeps no digest leaves it behind the record's revision. */
  to: Schema.Number,
  /** The SHA-256 of each line, all of them by exclusive or, in base64. A line names its record and its revision: none can take another's place. */
  sum: Schema.String,
  /** From and to of the lines that are not counted, because releases wrote them that keep no digest. */
  gaps: Schema.optionalKey(Schema.Array(Schema.Array(Schema.Number))),
  /** The SHA-256 of the last money call, in base64; none where there was no call, or where it may have been in a gap. */
  call: Schema.optionalKey(Schema.String),
  /** The earlier names at providers: the provider, and its reference. */
  names: Schema.optionalKey(Schema.Array(Schema.Array(Schema.String)))
})
export type HistoryDigest = typeof HistoryDigest.Type

const isDigest = Schema.is(HistoryDigest)
const BEGINNING: HistoryDigest = { to: 0, sum: Buffer.alloc(32).toString("base64") }

/** Of each record as it was read, or written by this process: the next step goes on from it. Few are read for a step, and so it is looked at there only. */
const known = new WeakMap<object, unknown>()

/** A record that is read, with what was stored in it of its history, if anything. */
export const rememberingDigest = <A>(record: A, stored: unknown): A => {
  if (stored !== undefined && typeof record === "object" && record !== null) known.set(record, stored)
  return record
}

/** The digest of the history up to and with this step. */
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

/** The digest of the record at this revision; lines that it does not count, and the call that may be among them, are left out of it. */
const upTo = (revision: number, digest: HistoryDigest | undefined): HistoryDigest => {
  if (digest === undefined || digest.to > revision) return { ...BEGINNING, to: revision, gaps: [[1, revision]] }
  if (digest.to === revision) return digest
  const { call: _, ...rest } = digest
  return { ...rest, to: revision, gaps: [...(digest.gaps ?? []), [digest.to + 1, revision]] }
}

/** With one line more. */
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
