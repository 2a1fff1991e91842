import type { LedgerRule } from "./LedgerRule.ts"
import { adjustmentRules } from "./rules/AdjustmentRules.ts"
import { digestRules } from "./rules/DigestRules.ts"
import { accountRules, entryRules } from "./rules/EntryRules.ts"
import { eventRules } from "./rules/EventRules.ts"
import { positionRules } from "./rules/PositionRules.ts"
import { exchangeRules, historyRules, recordRules } from "./rules/RecordRules.ts"
import { keptRules, requestRules, windowRules } from "./rules/RequestRules.ts"

/** Every rule, in the order in which they are reported. */
export const ledgerRules: ReadonlyArray<LedgerRule> = [
  ...positionRules,
  ...entryRules,
  ...accountRules,
  ...adjustmentRules,
  ...exchangeRules,
  ...windowRules,
  ...recordRules,
  ...historyRules,
  ...digestRules,
  ...keptRules,
  ...requestRules,
  ...eventRules
]
