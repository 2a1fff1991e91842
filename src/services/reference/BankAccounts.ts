import { Context, Effect, Option, Redacted } from "effect"
import { type BankAccount, isSameHolder } from "../../domain/BankAccount.ts"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { BankAccountUnresolvable } from "../../domain/errors/Terminal.ts"
import { maskedName } from "../../domain/Masking.ts"
import { type Destination, nameOf } from "../../domain/Party.ts"
import type { Holder } from "../../domain/Payment.ts"
import { CallKind, withShortWait } from "../../runtime/CallTurn.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { PayoutOperations, Provider, QuoteRefused } from "../ports/Provider.ts"
import type { ReferenceData } from "../ports/ProviderReads.ts"
import { coalescedReads } from "./CoalescedReads.ts"

type Resolve = Required<ReferenceData>["resolve"]

/** The holders of accounts, as the provider that would pay them knows them. */
export class BankAccounts extends Context.Service<
  BankAccounts,
  {
    /** The holder's name. Concurrent identical lookups share one call. */
    readonly holder: (
      provider: Provider,
      resolve: Resolve,
      account: BankAccount
    ) => Effect.Effect<Redacted.Redacted, BankAccountUnresolvable | ProviderError>
    /**
     * The holder of a payout's bank account, before anything is reserved. A name that differs from the tenant's refuses
     * nothing. Null when the destination is not a bank, or the provider does not disclose the holder.
     */
    readonly bankHolder: (
      provider: Provider,
      destination: Destination
    ) => Effect.Effect<Holder | null, BankAccountUnresolvable | ProviderError>
    /** The same for a mobile-money number. Refused only when that cannot be paid; a failed or slow lookup stops no payout. */
    readonly mobileHolder: (
      operations: Pick<PayoutOperations, "holder">,
      destination: Destination
    ) => Effect.Effect<Holder | null, QuoteRefused>
    /**
     * A bank code is one provider's code. Another provider may pay the account only if it finds the recipient's own name under
     * it; any other result counts as if the account could not be read.
     */
    readonly requireAccountNameMatch: (provider: Provider, destination: Destination) => Effect.Effect<void, ProviderError>
  }
>()("gateway/services/BankAccounts") {
  static readonly layer = layerOf(BankAccounts)(function* () {
    const shared = yield* coalescedReads<Redacted.Redacted | "unresolvable", ProviderError>()

    const holder: BankAccounts["Service"]["holder"] = Effect.fn("BankAccounts.holder")(function* (
      { mode, name },
      resolve,
      account
    ) {
      const { accountNumber, bankCode, country } = account
      const question = JSON.stringify([name, mode, country, bankCode, Redacted.value(accountNumber)])
      const found = yield* shared(question, resolve(account))
      return found === "unresolvable" ? yield* new BankAccountUnresolvable() : found
    })

    const bankHolder = Effect.fnUntraced(function* (provider: Provider, destination: Destination) {
      if (destination._tag !== "bank") return null
      const resolve = resolverOf(provider, destination.country)
      return resolve === undefined ? null : holderOf(yield* beforePaying(holder(provider, resolve, destination)), destination)
    })

    const mobileHolder: BankAccounts["Service"]["mobileHolder"] = Effect.fn("BankAccounts.mobileHolder")(
      function* (operations, destination) {
        if (destination._tag !== "momo" || operations.holder === undefined) return null
        // A free read with its own share of the pace, so that it takes no tokens from prices and money calls.
        const lookup = Effect.timeoutOption(withShortWait(operations.holder(destination)), HOLDER_WITHIN_MS)
        const found = Option.getOrUndefined(Option.flatten(yield* Effect.option(lookup)))
        if (found === "inactive") return yield* Effect.fail(noSuchAccount)
        return found === undefined || found.name === null ? null : holderOf(found.name, destination)
      }
    )

    const requireAccountNameMatch: BankAccounts["Service"]["requireAccountNameMatch"] = Effect.fn(
      "BankAccounts.requireAccountNameMatch"
    )(function* (provider, destination) {
      if (destination._tag !== "bank") return
      const resolve = resolverOf(provider, destination.country)
      // A branch that the tenant chose comes from the other provider's list, as the bank code does.
      if (resolve === undefined || needsBranch(provider, destination.country)) return yield* new ProviderError({})
      const found = yield* beforePaying(holder(provider, resolve, destination)).pipe(
        Effect.catchTag("bank_account_unresolvable", () => Effect.fail(new ProviderError({})))
      )
      if (!isSameHolder(found, destination.accountName)) return yield* new ProviderError({})
    })

    return { holder, bankHolder, mobileHolder, requireAccountNameMatch }
  })
}

/** How long a payout waits for a lookup that it can do without. */
const HOLDER_WITHIN_MS = 3_000

const noSuchAccount: QuoteRefused = { _tag: "QuoteRefused", kind: "inactive", note: "no active account by this number" }

const holderOf = (found: Redacted.Redacted, destination: Destination): Holder => {
  const named = nameOf(destination)
  return { maskedName: maskedName(Redacted.value(found)), isNamed: named === null ? null : isSameHolder(found, named) }
}

/** A payout waits for it, so it uses the share of the pace for quotes, not the one for tenants' reads. */
const beforePaying = Effect.provideService(CallKind, "quote")

/** Whether a payout to that country's banks has to name a branch at this provider. */
export const needsBranch = (provider: Provider | undefined, country: string): boolean =>
  provider?.guarantees.bankBranchCountries?.includes(country) === true

/** The provider whose bank codes a tenant uses: the first that lists banks; when none does, the first. */
export const bankCodesOf = (payers: ReadonlyArray<Provider>): Provider | undefined =>
  payers.find(({ reference }) => reference?.banks !== undefined) ?? payers[0]

/** Undefined when the provider cannot look up accounts in that country. */
export const resolverOf = ({ guarantees, reference }: Provider, country: string): Resolve | undefined =>
  guarantees.bankAccountCountries?.includes(country) === false ? undefined : reference?.resolve
