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

/** The holder of an account number, as the provider that would pay it gives it. */
export class BankAccounts extends Context.Service<
  BankAccounts,
  {
    /** The holder's name. Identical questions that wait together are asked once. */
    readonly holder: (
      provider: Provider,
      resolve: Resolve,
      account: BankAccount
    ) => Effect.Effect<Redacted.Redacted, BankAccountUnresolvable | ProviderError>
    /**
     * The holder of the bank account that a payout goes to, before anything is reserved. Another name than the tenant's refuses nothing.
     * Null for what is no bank's, and where the provider does not tell.
     */
    readonly bankHolder: (
      provider: Provider,
      destination: Destination
    ) => Effect.Effect<Holder | null, BankAccountUnresolvable | ProviderError>
    /**
     * The same of a number of mobile money. Only where the provider says that nobody can be paid by it is that refused: what cannot be read, or takes
     * too long, stops no payout.
     */
    readonly mobileHolder: (
      operations: Pick<PayoutOperations, "holder">,
      destination: Destination
    ) => Effect.Effect<Holder | null, QuoteRefused>
    /**
     * A code of a bank is the code of one provider. Another one may pay an account only where it knows it by the recipient's own name;
     * whatever else it says, it is as if it could not be read.
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
        // A free read: its part of the pace is not that of the tokens and prices without which no money call is made.
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
      // A branch that the tenant chose is of the other's list, as the bank's code is.
      if (resolve === undefined || needsBranch(provider, destination.country)) return yield* new ProviderError({})
      const found = yield* beforePaying(holder(provider, resolve, destination)).pipe(
        Effect.catchTag("bank_account_unresolvable", () => Effect.fail(new ProviderError({})))
      )
      if (!isSameHolder(found, destination.accountName)) return yield* new ProviderError({})
    })

    return { holder, bankHolder, mobileHolder, requireAccountNameMatch }
  })
}

/** A payout waits no longer for what it can do without. */
const HOLDER_WITHIN_MS = 3_000

const noSuchAccount: QuoteRefused = { _tag: "QuoteRefused", kind: "inactive", note: "no active account by this number" }

const holderOf = (found: Redacted.Redacted, destination: Destination): Holder => {
  const named = nameOf(destination)
  return { maskedName: maskedName(Redacted.value(found)), isNamed: named === null ? null : isSameHolder(found, named) }
}

/** A payout waits for it, and for its part of the account's pace: what tenants read by themselves has another part. */
const beforePaying = Effect.provideService(CallKind, "quote")

/** Whether it pays banks of that country only through a branch that the payout names. */
export const needsBranch = (provider: Provider | undefined, country: string): boolean =>
  provider?.guarantees.bankBranchCountries?.includes(country) === true

/** The provider whose codes of banks a tenant uses: the first that lists them, and where none does, the first. */
export const bankCodesOf = (payers: ReadonlyArray<Provider>): Provider | undefined =>
  payers.find(({ reference }) => reference?.banks !== undefined) ?? payers[0]

/** Undefined where the provider does not know whose a number of that country is. */
export const resolverOf = ({ guarantees, reference }: Provider, country: string): Resolve | undefined =>
  guarantees.bankAccountCountries?.includes(country) === false ? undefined : reference?.resolve
