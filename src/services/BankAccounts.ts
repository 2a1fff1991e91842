import { Context, Effect, Layer, Option, Redacted } from "effect"
import { type BankAccount, isSameHolder } from "../domain/BankAccount.ts"
import type { Corridor } from "../domain/Corridor.ts"
import { maskedName } from "../domain/Denial.ts"
import type { ProviderError } from "../domain/errors/Retriable.ts"
import { BankAccountUnresolvable } from "../domain/errors/Terminal.ts"
import type { Destination } from "../domain/Party.ts"
import type { Caller } from "../domain/Tenant.ts"
import { inFlight } from "./InFlight.ts"
import type { Provider, ReferenceData } from "./ports/Provider.ts"
import { ProviderRegistry } from "./ports/ProviderRegistry.ts"

type Resolve = Required<ReferenceData>["resolve"]

/** Whose account a number is, as the provider that would pay it says. */
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
     * The recipient of a bank payout once more, before anything is reserved. Answers a note for the payout's history: empty, or that the
     * bank knows the holder by another name, which refuses nothing. A provider that cannot resolve names is not asked.
     */
    readonly confirm: (
      caller: Caller,
      corridor: Corridor,
      destination: Destination
    ) => Effect.Effect<string, BankAccountUnresolvable | ProviderError>
  }
>()("gateway/services/BankAccounts") {
  static readonly layer = Layer.effect(
    BankAccounts,
    Effect.gen(function* () {
      const registry = yield* ProviderRegistry
      const shared = yield* inFlight<Redacted.Redacted | "unresolvable", ProviderError>()

      const holder = Effect.fn("BankAccounts.holder")(function* (
        { mode, name }: Provider,
        resolve: Resolve,
        account: BankAccount
      ) {
        const { accountNumber, bankCode, country } = account
        const question = JSON.stringify([name, mode, country, bankCode, Redacted.value(accountNumber)])
        const found = yield* shared(question, resolve(account))
        return found === "unresolvable" ? yield* new BankAccountUnresolvable() : found
      })

      const confirm = Effect.fn("BankAccounts.confirm")(function* (caller: Caller, corridor: Corridor, destination: Destination) {
        if (destination._tag !== "bank") return ""
        const provider = Option.getOrUndefined(registry.find(corridor.provider, caller.mode))
        const resolve = provider?.reference?.resolve
        if (provider === undefined || resolve === undefined) return ""
        const found = yield* holder(provider, resolve, destination)
        return isSameHolder(found, destination.accountName)
          ? ""
          : `the bank knows the account's holder as ${maskedName(Redacted.value(found))}`
      })

      return BankAccounts.of({ holder, confirm })
    })
  )
}
