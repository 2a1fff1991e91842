import { Effect } from "effect"
import type { Answer, Payouts, QuoteOrder } from "../../src/services/ports/Provider.ts"
import { startSimulator } from "./EversendBench.ts"
import { collectionsOf, open, payoutsOf, quoteOrder } from "./EversendOrders.ts"

const simulated = Effect.acquireRelease(
  Effect.promise(() => startSimulator()),
  ({ stop }) => Effect.promise(stop)
)

/** How long the calls take whose answer never comes. */
const IMPATIENT_MS = 500
const silent = new Set(["0003", "0004"])

/** The adapter before a simulator of its own. */
export const opened = Effect.fnUntraced(function* (ending: string) {
  const simulator = yield* simulated
  const provider = yield* open(simulator.eversendBaseUrl, silent.has(ending) ? { timeoutMs: IMPATIENT_MS } : {})
  return { simulator, payouts: payoutsOf(provider), collections: collectionsOf(provider) }
})

export const quoted = Effect.fnUntraced(function* (payouts: Payouts, change: Partial<QuoteOrder> = {}) {
  const quote = yield* payouts.quote(quoteOrder(change))
  return "_tag" in quote ? yield* Effect.die(new Error(quote.note)) : quote
})

const ASKED_AT_MOST = 500

/** Asks until the answer is of one of these kinds. */
export const settled = Effect.fnUntraced(function* (ask: Effect.Effect<Answer>, wanted: Answer["_tag"]) {
  for (let asked = 0; asked < ASKED_AT_MOST; asked++) {
    const answer = yield* ask
    if (answer._tag === wanted) return answer
  }
  return yield* Effect.die(new Error(`never ${wanted}`))
})
