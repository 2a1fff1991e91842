import { Clock, Context, Duration, Effect } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { FloatTotal } from "../ports/GatewayStatus.ts"
import type { Balance } from "../ports/ProviderReads.ts"
import { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import { coalescedReads } from "./CoalescedReads.ts"

/** An account that does not respond in this time counts as unknown, because an operator is waiting for the page. */
const ANSWER_WITHIN = Duration.seconds(5)
/** The minimum time between calls to a provider, however many people look. */
const ASKED_EVERY = Duration.seconds(30)
const AT_ONCE = 8
/** `latest` is refreshed after this time, and returns null after `LATEST_KEPT_MS`. */
const LATEST_READ_EVERY_MS = 60_000
const LATEST_KEPT_MS = 180_000

/** The wallets of one account at a provider, as it reported them at `asOf`. */
export interface AccountWallets {
  readonly provider: string
  readonly mode: Mode
  /** The previous account, still configured: its wallets keep their money until it is moved. */
  readonly isPrevious: boolean
  readonly asOf: Instant
  /** `unknown`: no response in time. `unnamed`: this provider does not report balances. */
  readonly wallets: ReadonlyArray<Balance> | "unknown" | "unnamed"
}

/** The wallets in one currency compared with the tenants' floats, in minor units. */
export interface Coverage {
  readonly mode: Mode
  readonly currency: Currency
  /** The sum of the known wallets of current accounts; null when none is known. */
  readonly wallets: bigint | null
  /**
   * The sum of the known wallets of previous accounts; null when none is known. It is part of no other sum: a new client of the
   * same wallet has another name here, so these may be the same wallets.
   */
  readonly before: bigint | null
  /** The sum that tenants can spend, including what is reserved for pending payouts. */
  readonly floats: bigint
  /** The accounts of this mode whose wallets are unknown and therefore missing from the sums. */
  readonly without: ReadonlyArray<string>
}

export const accountName = ({ isPrevious, provider }: Pick<AccountWallets, "isPrevious" | "provider">): string =>
  isPrevious ? `${provider}, the account before` : provider

/** The wallets of every account, read live for operators; `Reference.balances` is the tenants' read. */
export class WalletBalances extends Context.Service<
  WalletBalances,
  {
    /** All registered accounts, by provider and mode. Never fails: an account that does not respond is unknown. */
    readonly read: Effect.Effect<ReadonlyArray<AccountWallets>>
    /**
     * The last reading, immediately; null when it is too old or there was none. A reading that is a minute old is refreshed in
     * the background: an operator never waits for a provider, and while nobody looks no provider is called.
     */
    readonly latest: Effect.Effect<ReadonlyArray<AccountWallets> | null>
  }
>()("gateway/services/WalletBalances") {
  static readonly layer = layerOf(WalletBalances)(function* () {
    const registry = yield* ProviderRegistry
    const shared = yield* coalescedReads<Pick<AccountWallets, "asOf" | "wallets">, never>(() => ASKED_EVERY)

    const accounts = registry.known.flatMap((name) =>
      Mode.literals.flatMap((mode) => registry.accounts(name, mode).map((account, index) => ({ account, name, mode, index })))
    )

    const askOne = Effect.fnUntraced(function* ({ account, index, mode, name }: (typeof accounts)[number]) {
      const balances = account.reference?.balances
      const { asOf, wallets } = yield* shared(
        `${name}:${mode}:${index}`,
        Effect.gen(function* () {
          if (balances === undefined) return { asOf: yield* Clock.currentTimeMillis, wallets: "unnamed" as const }
          const answer = yield* balances.pipe(
            Effect.timeout(ANSWER_WITHIN),
            Effect.catchTags({
              provider_error: () => Effect.succeed("unknown" as const),
              TimeoutError: () => Effect.succeed("unknown" as const)
            })
          )
          const asOf = yield* Clock.currentTimeMillis
          if (answer === "unknown") return { asOf, wallets: answer }
          return { asOf, wallets: answer.filter(({ currency }) => account.fingerprints(currency).length > 0) }
        })
      )
      return { provider: name, mode, isPrevious: index > 0, asOf, wallets } satisfies AccountWallets
    })

    const read = Effect.withSpan(Effect.forEach(accounts, askOne, { concurrency: AT_ONCE }), "WalletBalances.read")

    const scope = yield* Effect.scope
    let last: { readonly at: Instant; readonly accounts: ReadonlyArray<AccountWallets> } | null = null
    let begunAt = Number.NEGATIVE_INFINITY
    const readAgain = Effect.gen(function* () {
      const found = yield* read
      last = { at: yield* Clock.currentTimeMillis, accounts: found }
    })
    const latest = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      if (now - begunAt >= LATEST_READ_EVERY_MS) {
        begunAt = now
        yield* Effect.forkIn(readAgain, scope)
      }
      return last === null || now - last.at > LATEST_KEPT_MS ? null : last.accounts
    })

    return { read, latest }
  })
}

/** One row for each mode and currency of a wallet or a float, ordered by name. */
export const coverageOf = (
  accounts: ReadonlyArray<AccountWallets>,
  floats: ReadonlyArray<Pick<FloatTotal, "mode" | "currency" | "available" | "reserved">>
): ReadonlyArray<Coverage> => {
  const named = accounts.flatMap(({ isPrevious, mode, wallets }) =>
    typeof wallets === "string" ? [] : wallets.map((wallet) => ({ ...wallet, mode, isPrevious }))
  )
  const places = new Map([...named, ...floats].map(({ currency, mode }) => [`${mode} ${currency}`, { currency, mode }]))
  return [...places.values()]
    .map(({ currency, mode }): Coverage => {
      const isHere = (one: { readonly currency: Currency; readonly mode: Mode }) => one.currency === currency && one.mode === mode
      const known = named.filter(isHere)
      const sumOf = (wallets: typeof known) =>
        wallets.length === 0 ? null : wallets.reduce((sum, { available }) => sum + available, 0n)
      return {
        mode,
        currency,
        wallets: sumOf(known.filter(({ isPrevious }) => !isPrevious)),
        before: sumOf(known.filter(({ isPrevious }) => isPrevious)),
        floats: floats.filter(isHere).reduce((sum, { available, reserved }) => sum + available + reserved, 0n),
        without: [
          ...new Set(accounts.flatMap((one) => (one.mode === mode && typeof one.wallets === "string" ? [accountName(one)] : [])))
        ]
      }
    })
    .toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
}

/** Whether the wallets hold less than the floats, even if all previous accounts' wallets are counted. */
export const isSurelyLess = ({ before, floats, wallets, without }: Coverage): boolean =>
  without.length === 0 && (wallets ?? 0n) + (before ?? 0n) < floats

const nameOf = ({ currency, mode }: Coverage): string => `${mode} ${currency}`
