import type { Reference } from "../../domain/Ids.ts"
import { type Entry, slots } from "../../domain/Ledger.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import type { Adjustment } from "../../services/ports/FloatLedger.ts"

// What moves money by a person's word says so in its audit row, whatever the caller put there: `ledger verify` holds one against the other.

/** The row of an adjustment, with what was posted and under which reference. */
export const adjustmentEntry = (adjustment: Adjustment, reference: Reference): AuditEntry => {
  const { amount, appId, audit, currency, direction, externalId, mode } = adjustment
  const done = { app_id: appId, mode, direction, currency, amount_minor: amount.toString(), external_id: externalId, reference }
  return { ...audit, details: { ...audit.details, ...done } }
}

/** The row of a resolution, with the entry that it posted; none where nothing moved. */
export const resolutionEntry = (audit: AuditEntry, reference: Reference, entry: Entry | null): AuditEntry => {
  const posted = entry === null ? {} : { slot: slots[entry.phase], postings: textOf(entry) }
  return { ...audit, details: { ...audit.details, resolved: reference, ...posted } }
}

/** In the order of the bytes, as the database sorts them. */
const textOf = ({ postings }: Entry): string =>
  postings
    .filter(({ amount }) => amount !== 0n)
    .map(({ account, amount, currency }) => `${currency} ${account} ${amount}`)
    .sort((a, b) => (a < b ? -1 : 1))
    .join("; ")
