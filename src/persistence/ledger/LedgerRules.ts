import type { LedgerRule } from "./LedgerRule.ts"
import { accountRules } from "./rules/AccountRules.ts"
import { adjustmentRules } from "./rules/AdjustmentRules.ts"
import { entryRules } from "./rules/EntryRules.ts"
import { eventRules } from "./rules/EventRules.ts"
import { exchangeRules } from "./rules/ExchangeRules.ts"
import { historyRules } from "./rules/HistoryRules.ts"
import { keptRules } from "./rules/KeptRules.ts"
import { positionRules } from "./rules/PositionRules.ts"
import { recordRules } from "./rules/RecordRules.ts"
import { requestRules } from "./rules/RequestRules.ts"
import { windowRules } from "./rules/WindowRules.ts"

/** Every promise, in the order in which they are reported. */
export const ledgerRules: ReadonlyArray<LedgerRule> = [
  ...positionRules,
  ...entryRules,
  ...accountRules,
  ...adjustmentRules,
  ...exchangeRules,
  ...windowRules,
  ...recordRules,
  ...historyRules,
  ...keptRules,
  ...requestRules,
  ...eventRules
]
