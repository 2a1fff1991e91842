import { Effect } from "effect"
import type { Destination } from "../../domain/Party.ts"
import type { Holder } from "../../domain/Payment.ts"
import type { Caller } from "../../domain/Tenant.ts"
import type { PayoutOperations } from "../ports/Provider.ts"
import { type RateLimit, RateLimits } from "../ports/RateLimits.ts"
import { BankAccounts } from "../reference/BankAccounts.ts"

export interface HolderLookup {
  /** Null where it is not known, and where nobody was asked. */
  readonly holder: Holder | null
  /** To be run when the payout was opened. It waits for nothing: what counts the lookups may answer late, and the money is to be sent. */
  readonly opened: Effect.Effect<void>
}

/** The recipient of a payout, and the provider that would pay. */
interface Payee {
  readonly operations: Pick<PayoutOperations, "holder">
  readonly destination: Destination
}

/**
 * How many holders of mobile-money accounts a tenant may look up by payouts that are not made, in one mode (contract LIM-28). Velocity
 * limits count what is opened only, so that they bound none of these. A payout that was opened gives its lookup back: whoever pays many
 * is never short of them.
 */
const UNPAID_LOOKUPS: RateLimit = { count: 30, windowMs: 60_000, burst: 60 }

/**
 * Looks up whose number it is, for a payout that would be opened as far as that can be seen. Beyond the tenant's bound nobody is asked,
 * and the payout goes on without: a bound on questions refuses no payment.
 */
export const holderLookups = Effect.gen(function* () {
  const accounts = yield* BankAccounts
  const { giveBack, take } = yield* RateLimits
  const scope = yield* Effect.scope

  return Effect.fnUntraced(function* (
    { appId, mode }: Caller,
    { destination, operations }: Payee,
    wouldOpen: Effect.Effect<boolean>
  ) {
    if (destination._tag !== "momo" || operations.holder === undefined || !(yield* wouldOpen)) return notAsked
    const bucket = `holder:tenant:${appId}:${mode}`
    if ((yield* take(bucket, UNPAID_LOOKUPS, 1))._tag === "Limited") return notAsked
    const holder = yield* accounts.mobileHolder(operations, destination)
    const givenBack = Effect.forkIn(giveBack(bucket, UNPAID_LOOKUPS, 1), scope, { startImmediately: true })
    return { holder, opened: Effect.asVoid(givenBack) }
  })
})

const notAsked: HolderLookup = { holder: null, opened: Effect.void }
