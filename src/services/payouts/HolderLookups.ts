import { Effect } from "effect"
import type { Destination } from "../../domain/Party.ts"
import type { Holder } from "../../domain/Payment.ts"
import type { Caller } from "../../domain/Tenant.ts"
import type { PayoutOperations } from "../ports/Provider.ts"
import { type RateLimit, RateLimits } from "../ports/RateLimits.ts"
import { BankAccounts } from "../reference/BankAccounts.ts"

export interface HolderLookup {
  /** Null when it is unknown or was not looked up. */
  readonly holder: Holder | null
  /** Run this when the payout was opened. It does not wait: the counter may respond slowly, and the money has to be sent. */
  readonly opened: Effect.Effect<void>
}

/** The recipient of a payout, and the provider that would pay. */
interface Payee {
  readonly operations: Pick<PayoutOperations, "holder">
  readonly destination: Destination
}

/**
 * How many holders of mobile-money accounts a tenant may look up in one mode by payouts that are not made (contract LIM-28).
 * Velocity limits count only opened payouts, so they do not limit these. A payout that is opened gives its lookup back, so a
 * tenant that pays many recipients never runs out.
 */
const UNPAID_LOOKUPS: RateLimit = { count: 30, windowMs: 60_000, burst: 60 }

/**
 * Looks up a number's holder, for a payout that would be opened as far as can be known. Beyond the tenant's limit nothing is
 * looked up, and the payout continues without it: a limit on lookups refuses no payment.
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
