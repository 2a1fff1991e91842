import type { LedgerRule } from "./LedgerRule.ts"
import { entryRules } from "./rules/EntryRules.ts"
import { eventRules } from "./rules/EventRules.ts"
import { positionRules } from "./rules/PositionRules.ts"
import { recordRules } from "./rules/RecordRules.ts"
import { requestRules } from "./rules/RequestRules.ts"

/** Every promise, in the order in which they are reported. */
export const ledgerRules: ReadonlyArray<LedgerRule> = [
  ...positionRules,
  ...entryRules,
  ...recordRules,
  ...requestRules,
  ...eventRules
]
