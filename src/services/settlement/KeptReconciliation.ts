import { isReference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { maskedText } from "../../domain/Masking.ts"
import { type FoundReconciliation, KEPT_AT_MOST, type KeptDifference } from "../ports/Reconciliations.ts"
import type { KnownDifference, ModeDifference, ReconciliationReport } from "./Reconciliation.ts"

/** A report as it is stored: bounded, and masked, because statements may name people. It is printed completely. */
export const keptReconciliation = (
  { checked, day, differences, known, provider }: ReconciliationReport,
  at: Instant
): FoundReconciliation => ({
  provider,
  day,
  at,
  ours: checked.ours,
  theirs: checked.theirs,
  unreadable: checked.unreadable,
  differences: differences.length,
  explained: known.length,
  found: [...differences, ...known].slice(0, KEPT_AT_MOST).map(keptDifference)
})

/** Figures and states are our own words. A name that none of our records has may be anything, even a person's number. */
const keptDifference = (difference: ModeDifference | KnownDifference): KeptDifference => {
  const { account, kind, mode, ours, provider_reference: theirName, reference, theirs } = difference
  const isOurs = reference !== null && isReference(reference)
  return {
    kind,
    mode,
    account,
    reference: isOurs ? reference : masked(reference),
    providerReference: isOurs ? theirName : masked(theirName),
    ours,
    theirs: namesAlone.includes(kind) ? masked(theirs) : theirs,
    because: "because" in difference ? difference.because : null
  }
}

/** Kinds whose other side consists of the provider's names or words. */
const namesAlone: ReadonlyArray<ModeDifference["kind"]> = ["doubled", "unreadable"]

const masked = (text: string | null): string | null => (text === null ? null : maskedText(text))
