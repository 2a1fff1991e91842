import { Clock, Context, Duration, Effect, Redacted } from "effect"
import type { BankAccount } from "../../domain/BankAccount.ts"
import type { Corridor } from "../../domain/Corridor.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import {
  BankAccountUnresolvable,
  type CapabilityNotAllowed,
  ProviderCapabilityUnsupported
} from "../../domain/errors/Terminal.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Caller, Capability } from "../../domain/Tenant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Admission } from "../admission/Admission.ts"
import { Corridors } from "../ports/Corridors.ts"
import type { Provider } from "../ports/Provider.ts"
import type { Balance, BankBranch, PayableBank, PayableCountry } from "../ports/ProviderReads.ts"
import { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import { type RoutedProvider, Routes } from "../routing/Routes.ts"
import { BankAccounts, bankCodesOf, needsBranch, resolverOf } from "./BankAccounts.ts"
import { coalescedReads } from "./CoalescedReads.ts"

/** A corridor row with the provider that comes first for one tenant, its availability, and what payouts require there. */
export interface ServedCorridor extends Corridor {
  readonly provider: string
  readonly requiresBranch: boolean
  /** Payouts are refused until an operator has set the payer. */
  readonly requiresSender: boolean
}

interface ServedBank extends PayableBank {
  readonly country: string
  readonly currency: Currency
}

export interface ServedBranch extends BankBranch {
  readonly country: string
  readonly bankCode: string
}

/** A country with the currencies that its corridors pay. */
export interface ServedCountry extends PayableCountry {
  readonly currencies: ReadonlyArray<Currency>
}

/** One wallet of the shared pool at the time when its provider was asked. */
export interface PoolBalance extends Balance {
  readonly provider: string
  readonly asOf: Instant
}

type ReadRefusal = CapabilityNotAllowed | ProviderError | ProviderCapabilityUnsupported

/**
 * Reads that move no money (contract REF-1 to REF-9). All but the corridors call the provider; only branches may be up to a day
 * old. Concurrent identical reads share one call.
 */
export class Reference extends Context.Service<
  Reference,
  {
    /**
     * All corridor rows, active or not, with their present state for this tenant. A row that no provider serves, or only providers
     * that are switched off, is shown as inactive. Needs no grant.
     */
    readonly corridors: (caller: Caller) => Effect.Effect<ReadonlyArray<ServedCorridor>>
    /** The banks that can be paid in a country; empty when no active corridor pays banks there. */
    readonly banks: (caller: Caller, country: string) => Effect.Effect<ReadonlyArray<ServedBank>, ReadRefusal>
    /** The branches of one of those banks; empty for any other bank, and when payouts name no branch. */
    readonly branches: (
      caller: Caller,
      bank: Pick<ServedBranch, "country" | "bankCode">
    ) => Effect.Effect<ReadonlyArray<ServedBranch>, ReadRefusal>
    /** The account's holder. In a country without payable banks no account can be resolved. */
    readonly resolve: (
      caller: Caller,
      account: BankAccount
    ) => Effect.Effect<Redacted.Redacted, ReadRefusal | BankAccountUnresolvable>
    /** The countries that payouts can reach, from all providers of the tenant's payouts that report them. */
    readonly countries: (caller: Caller) => Effect.Effect<ReadonlyArray<ServedCountry>, ReadRefusal>
    /** The wallets that all tenants share, of every provider that the tenant is routed to and that reports them. */
    readonly balances: (caller: Caller) => Effect.Effect<ReadonlyArray<PoolBalance>, ReadRefusal>
  }
>()("gateway/services/Reference") {
  static readonly layer = layerOf(Reference)(function* () {
    const admission = yield* Admission
    const corridors = yield* Corridors
    const routes = yield* Routes
    const registry = yield* ProviderRegistry
    const accounts = yield* BankAccounts
    const sharedBanks = yield* coalescedReads<ReadonlyArray<PayableBank>, ProviderError>()
    const sharedBranches = yield* coalescedReads<ReadonlyArray<BankBranch>, ProviderError>(branchesLife)
    const sharedCountries = yield* coalescedReads<ReadonlyArray<PayableCountry>, ProviderError>()
    const sharedBalances = yield* coalescedReads<ReadonlyArray<Balance>, ProviderError>()

    const payouts = Effect.map(corridors.list, (rows) => rows.filter(({ direction }) => direction === "payout"))

    /** Every payment of a network that no provider of the row reaches is refused, so it is not shown. */
    const reachedNetworks = Effect.fnUntraced(function* (caller: Caller, row: Corridor) {
      const { country, currency, direction, networks } = row
      const operationsOf = ({ collections, payouts: pays }: Provider) => (direction === "payout" ? pays : collections)
      const able = yield* routes.forCorridor(caller, row, operationsOf)
      const isReached = (network: string) =>
        able.some(({ operations: { reachesNetwork: reaches } }) => {
          const party = { _tag: "momo", msisdn: Redacted.make(""), network, country } as const
          return reaches?.(party, currency) ?? true
        })
      return able.length === 0 ? networks : networks.filter(isReached)
    })

    const requiresBranch = Effect.fnUntraced(function* (caller: Caller, row: Corridor) {
      if (row.direction !== "payout" || row.method !== "bank") return false
      const payers = yield* routes.forCorridor(caller, row, ({ payouts: pays }) => pays)
      return needsBranch(bankCodesOf(payers.map(({ provider }) => provider)), row.country)
    })

    /**
     * The provider whose bank and branch codes are listed: the one to which a payout with such a code goes first. Another
     * provider may use the same code for another bank, so none replaces it while it cannot be read or is switched off.
     */
    const bankLister = Effect.fnUntraced(function* (caller: Caller, row: Corridor) {
      const readers = yield* routes.forCorridor(
        caller,
        row,
        ({ payouts: pays, reference }) => pays && reference?.banks && { banks: reference.banks, branches: reference.branches }
      )
      const [first] = readers
      if (first === undefined) return yield* unsupported("reference_data")
      yield* routes.requireSwitchedOn(first.provider)
      return first
    })

    /** Includes the previous account while it is configured: its wallets belong to the pool until they are emptied. */
    const walletsOf = (routed: ReadonlyArray<RoutedProvider<unknown>>) =>
      routed.flatMap(({ provider: { mode, name } }) =>
        registry.accounts(name, mode).flatMap((provider, index) => {
          const read = provider.reference?.balances
          return read === undefined ? [] : [{ name: `${name}:${mode}:${index}`, provider, read }]
        })
      )

    const bankRows = (country: string) =>
      Effect.map(payouts, (rows) => rows.filter((row) => row.active && row.method === "bank" && row.country === country))

    return {
      corridors: Effect.fn("Reference.corridors")(function* (caller) {
        return yield* Effect.forEach(yield* corridors.list, (row) =>
          Effect.all({
            provider: routes.firstProviderName(caller, row),
            availability: routes.availability(caller, row),
            limits: routes.amountLimits(caller, row),
            networks: reachedNetworks(caller, row),
            requiresBranch: requiresBranch(caller, row),
            requiresSender: routes.lacksSender(caller, row),
            unserved: routes.unserved(caller, row)
          }).pipe(
            Effect.map(
              ({ limits, unserved, ...seen }): ServedCorridor => ({
                ...row,
                ...limits,
                ...seen,
                ...(row.active && unserved !== null ? closed[unserved] : {})
              })
            )
          )
        )
      }),

      banks: Effect.fn("Reference.banks")(function* (caller, country) {
        yield* admission.requireCapability(caller, "reference_data")
        const [row] = yield* bankRows(country)
        if (row === undefined) return []
        const { operations, provider } = yield* bankLister(caller, row)
        const found = yield* sharedBanks(`${nameOf(provider)}:${country}`, operations.banks(country))
        return found.map((bank): ServedBank => ({ ...bank, country, currency: row.currency }))
      }),

      branches: Effect.fn("Reference.branches")(function* (caller, { bankCode, country }) {
        yield* admission.requireCapability(caller, "reference_data")
        const [row] = yield* bankRows(country)
        if (row === undefined) return []
        const { operations, provider } = yield* bankLister(caller, row)
        if (operations.branches === undefined) return []
        const asked = JSON.stringify([nameOf(provider), country, bankCode])
        const found = yield* sharedBranches(asked, operations.branches(country, bankCode))
        return found.map((branch): ServedBranch => ({ ...branch, country, bankCode }))
      }),

      resolve: Effect.fn("Reference.resolve")(function* (caller, account) {
        yield* admission.requireCapability(caller, "bank_resolution")
        const [row] = yield* bankRows(account.country)
        if (row === undefined) return yield* new BankAccountUnresolvable()
        // Only the provider that a payout with this bank code goes to first is asked: at another one it may be another bank.
        const payers = yield* routes.forCorridor(caller, row, ({ payouts: pays }) => pays)
        const provider = bankCodesOf(payers.map((payer) => payer.provider))
        const read = provider && resolverOf(provider, account.country)
        if (provider === undefined || read === undefined) return yield* unsupported("bank_resolution")
        yield* routes.requireSwitchedOn(provider)
        return yield* accounts.holder(provider, read, account)
      }),

      countries: Effect.fn("Reference.countries")(function* (caller) {
        yield* admission.requireCapability(caller, "reference_data")
        const rows = yield* payouts
        const readers = yield* routes.forCorridors(caller, rows, ({ reference }) => reference?.countries)
        const lists = yield* everyone(yield* some(readers, "reference_data"), ({ operations: read, provider }) =>
          sharedCountries(nameOf(provider), read)
        )
        return union(lists.flat()).map((one): ServedCountry => ({ ...one, currencies: currenciesOf(rows, one.country) }))
      }),

      balances: Effect.fn("Reference.balances")(function* (caller) {
        yield* admission.requireCapability(caller, "balances")
        const routed = yield* routes.forCorridors(caller, yield* corridors.list, ({ reference }) => reference?.balances)
        const wallets = yield* everyone(
          walletsOf(yield* some(routed, "balances")),
          Effect.fnUntraced(function* ({ name, provider, read }) {
            const found = yield* sharedBalances(name, read)
            const asOf = yield* Clock.currentTimeMillis
            return found
              .filter(({ currency }) => provider.fingerprints(currency).length > 0)
              .map((wallet): PoolBalance => ({ ...wallet, provider: provider.name, asOf }))
          })
        )
        return wallets.flat()
      })
    }
  })
}

/** Only inactive corridors refuse payments, so an open row whose payments would all be refused is shown as inactive. */
const closed = {
  no_provider: { active: false, inactiveReason: "no provider serves it", availability: "down" },
  provider_off: { active: false, inactiveReason: "its providers are switched off", availability: "down" }
} as const

/** Branches seldom change, and their list takes two calls. An empty list is not cached: the bank may not have been listed yet. */
const branchesLife = ({ length }: ReadonlyArray<BankBranch>) => (length === 0 ? Duration.zero : Duration.days(1))

/** 501: the same answer as the capability row's, whether an account is missing or the provider lacks the call. */
const unsupported = (capability: Capability) =>
  new ProviderCapabilityUnsupported({ capability, reason: "provider_not_supported" })

const some = <One>(able: ReadonlyArray<One>, capability: Capability) =>
  able.length > 0 ? Effect.succeed(able) : Effect.fail(unsupported(capability))

/** The answers of all providers, in their order. One that cannot be read fails it: a list without its rows would look complete. */
const everyone = Effect.fnUntraced(function* <One, A>(
  all: ReadonlyArray<One>,
  ask: (one: One) => Effect.Effect<A, ProviderError>
) {
  // To the end, also after one has failed: other requests may wait for the same reads, and would be interrupted with them.
  const answers = yield* Effect.forEach(all, (one) => Effect.result(ask(one)), { concurrency: "unbounded" })
  return yield* Effect.forEach(answers, Effect.fromResult)
})

/** Each country once, as its first provider describes it, with the methods of all. */
const union = (countries: ReadonlyArray<PayableCountry>): ReadonlyArray<PayableCountry> =>
  [...new Set(countries.map(({ country }) => country))].flatMap((country) => {
    const [first, ...others] = countries.filter((one) => one.country === country)
    if (first === undefined) return []
    return [{ ...first, methods: [...new Set([first, ...others].flatMap(({ methods }) => methods))] }]
  })

const nameOf = ({ mode, name }: Provider): string => `${name}:${mode}`

const currenciesOf = (rows: ReadonlyArray<Corridor>, country: string): ReadonlyArray<Currency> => [
  ...new Set(rows.filter((row) => row.country === country).map(({ currency }) => currency))
]
