import { Effect } from "effect"
import { makeAudit } from "./pages/Audit.ts"
import { makeCallbacks } from "./pages/Callbacks.ts"
import { makeDecisions } from "./pages/Decisions.ts"
import { makeFloatEntries } from "./pages/FloatEntries.ts"
import { makeFloats } from "./pages/Floats.ts"
import { makeAcknowledging, makeHome } from "./pages/Home.ts"
import { makeKeys } from "./pages/Keys.ts"
import { makeProviders } from "./pages/Providers.ts"
import { makeReviews } from "./pages/Reviews.ts"
import { makeSenders } from "./pages/Senders.ts"
import { makeTimeline } from "./pages/Timeline.ts"
import { makeTransactions } from "./pages/Transactions.ts"
import { makeWebhooks } from "./pages/Webhooks.ts"

export interface RoomSettings {
  /** Where a trace can be seen, with `{trace}` for its id; null: nowhere. */
  readonly traceUrl: string | null
}

/** Every part of the console, in the order of the menu. */
export const makeRooms = ({ traceUrl }: RoomSettings) =>
  Effect.all([
    makeHome,
    makeTransactions,
    makeTimeline(traceUrl),
    makeAcknowledging,
    makeReviews,
    makeDecisions,
    makeWebhooks,
    makeCallbacks,
    makeFloats,
    makeFloatEntries,
    makeKeys,
    makeSenders,
    makeProviders,
    makeAudit
  ])
