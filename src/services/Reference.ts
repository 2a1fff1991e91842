import { Clock, Context, Effect, Layer, Option, type Redacted } from "effect"
import type { BankAccount } from "../domain/BankAccount.ts"
import type { Corridor } from "../domain/Corridor.ts"
import type { Currency } from "../domain/Currency.ts"
import { ProviderError } from "../domain/errors/Retriable.ts"
import { BankAccountUnresolvable, type CapabilityNotAllowed, ProviderCapabilityUnsupported } from "../domain/errors/Terminal.ts"
import type { Mode } from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import { routedProviders } from "../domain/Routing.ts"
import type { Caller, Capability } from "../domain/Tenant.ts"
import { Admission } from "./Admission.ts"
import { BankAccounts } from "./BankAccounts.ts"
import { inFlight } from "./InFlight.ts"
import { Corridors } from "./ports/Corridors.ts"
import type { Balance, PayableBank, PayableCountry, Provider, ReferenceData } from "./ports/Provider.ts"
import { ProviderRegistry } from "./ports/ProviderRegistry.ts"

/** A bank with the country and currency that it is paid in. */
export interface Bank extends PayableBank {
  readonly country: string
  readonly currency: Currency
}

/** A country with the currencies that its corridor rows pay. */
export interface ServedCountry extends PayableCountry {
  readonly currencies: ReadonlyArray<Currency>
}

/** One wallet of the shared pool, as it was when its provider was asked. */
export interface PoolBalance extends Balance {
  readonly provider: string
  readonly asOf: Instant
}

type ReadRefusal = CapabilityNotAllowed | ProviderError | ProviderCapabilityUnsupported

/**
 * What is looked up and never moves money (interface.md, "Bank reference data"). Everything but the corridors is asked of the provider
 * live; identical reads that wait together share one call.
 */
export class Reference extends Context.Service<
  Reference,
  {
    /** Every row of the gateway's own configuration, active or not; needs no grant. */
    readonly corridors: Effect.Effect<ReadonlyArray<Corridor>>
    /** The banks payable in a country; none where no active corridor pays banks there. */
    readonly banks: (caller: Caller, country: string) => Effect.Effect<ReadonlyArray<Bank>, ReadRefusal>
    /** The account's holder. A country in which no bank is paid has no account that could be resolved. */
    readonly resolve: (
      caller: Caller,
      account: BankAccount
    ) => Effect.Effect<Redacted.Redacted, ReadRefusal | BankAccountUnresolvable>
    /** Where payouts can be delivered, by the first provider that payouts are routed to and that tells. */
    readonly countries: (caller: Caller) => Effect.Effect<ReadonlyArray<ServedCountry>, ReadRefusal>
    /** The wallets that all tenants share, of every provider that tells. */
    readonly balances: (caller: Caller) => Effect.Effect<ReadonlyArray<PoolBalance>, ReadRefusal>
  }
>()("gateway/services/Reference") {
  static readonly layer = Layer.effect(
    Reference,
    Effect.gen(function* () {
      const admission = yield* Admission
      const corridors = yield* Corridors
      const registry = yield* ProviderRegistry
      const accounts = yield* BankAccounts
      const sharedBanks = yield* inFlight<ReadonlyArray<PayableBank>, ProviderError>()
      const sharedCountries = yield* inFlight<ReadonlyArray<PayableCountry>, ProviderError>()
      const sharedBalances = yield* inFlight<ReadonlyArray<Balance>, ProviderError>()

      const payouts = Effect.map(corridors.list, (rows) => rows.filter(({ direction }) => direction === "payout"))

      const banks = Effect.fn("Reference.banks")(function* (caller: Caller, country: string) {
        yield* admission.granted(caller, "reference_data")
        const [row] = yield* bankRows(country)
        if (row === undefined) return []
        const { provider, read } = yield* able([row.provider], caller.mode, "reference_data", (data) => data.banks)
        const found = yield* sharedBanks(`${nameOf(provider)}:${country}`, read(country))
        return found.map((bank): Bank => ({ ...bank, country, currency: row.currency }))
      })

      const resolve = Effect.fn("Reference.resolve")(function* (caller: Caller, account: BankAccount) {
        yield* admission.granted(caller, "bank_resolution")
        const [row] = yield* bankRows(account.country)
        if (row === undefined) return yield* new BankAccountUnresolvable()
        const { provider, read } = yield* able([row.provider], caller.mode, "bank_resolution", (data) => data.resolve)
        return yield* accounts.holder(provider, read, account)
      })

      const countries = Effect.fn("Reference.countries")(function* (caller: Caller) {
        yield* admission.granted(caller, "reference_data")
        const rows = yield* payouts
        const { provider, read } = yield* able(routedProviders(rows), caller.mode, "reference_data", (data) => data.countries)
        const found = yield* sharedCountries(nameOf(provider), read)
        return found.map((one): ServedCountry => ({ ...one, currencies: currenciesOf(rows, one.country) }))
      })

      const balances = Effect.fn("Reference.balances")(function* (caller: Caller) {
        yield* admission.granted(caller, "balances")
        const all = yield* everyAble(registry.known, caller.mode, "balances", (data) => data.balances)
        const read = Effect.fnUntraced(function* ({ provider, read }: (typeof all)[number]) {
          const wallets = yield* sharedBalances(nameOf(provider), read)
          const asOf = yield* Clock.currentTimeMillis
          return wallets.map((wallet): PoolBalance => ({ ...wallet, provider: provider.name, asOf }))
        })
        return (yield* Effect.forEach(all, read, { concurrency: "unbounded" })).flat()
      })

      const bankRows = (country: string) =>
        Effect.map(payouts, (rows) => rows.filter((row) => row.active && row.method === "bank" && row.country === country))

      /** Those of the named providers that can be asked. One that has no credentials may have some tomorrow; one that cannot tell never will. */
      const everyAble = Effect.fnUntraced(function* <Read>(
        names: ReadonlyArray<string>,
        mode: Mode,
        capability: Capability,
        part: (data: ReferenceData) => Read | undefined
      ) {
        const registered = names.flatMap((name) => Option.toArray(registry.find(name, mode)))
        if (registered.length === 0) return yield* new ProviderError()
        const found = registered.flatMap((provider) => {
          const read = provider.reference === undefined ? undefined : part(provider.reference)
          return read === undefined ? [] : [{ provider, read }]
        })
        if (found.length === 0) return yield* new ProviderCapabilityUnsupported({ capability, reason: "provider_not_supported" })
        return found
      })

      const able = <Read>(...asked: Parameters<typeof everyAble<Read>>) =>
        Effect.flatMap(everyAble<Read>(...asked), ([first]) =>
          first === undefined ? Effect.fail(new ProviderError()) : Effect.succeed(first)
        )

      return Reference.of({ corridors: corridors.list, banks, resolve, countries, balances })
    })
  )
}

const nameOf = ({ mode, name }: Provider): string => `${name}:${mode}`

const currenciesOf = (rows: ReadonlyArray<Corridor>, country: string): ReadonlyArray<Currency> => [
  ...new Set(rows.filter((row) => row.country === country).map(({ currency }) => currency))
]
