import { Effect } from "effect"
import type { Corridor } from "../domain/Corridor.ts"
import type { Instant } from "../domain/Instant.ts"
import { type MinorUnits, minor } from "../domain/Money.ts"
import type { OpenedAccount, ProviderAccounts } from "./ProviderModule.ts"
import { contractPrices } from "./Registry.ts"

/** An amount that most corridors take, where the row has no minimum. */
const SAMPLE: MinorUnits = minor(100_000n)

/**
 * Why a provider of a corridor's row would be passed over for every payment, by the settings that this process has: a sentence each. Nothing is asked of
 * a provider: `gateway provider check` does that.
 */
export const corridorDoubts = Effect.fnUntraced(function* (
  accounts: ReadonlyArray<ProviderAccounts>,
  row: Corridor,
  at: Instant
) {
  const found = yield* Effect.forEach(row.providers, (name) => {
    const own = accounts.find((one) => one.name === name)
    return own === undefined
      ? Effect.succeed([`${name} has no account in the settings`])
      : Effect.map(Effect.scoped(own.open), (opened) => doubtsOf(own, opened, { row, at }))
  })
  return found.flat()
})

const doubtsOf = (
  accounts: ProviderAccounts,
  opened: ReadonlyArray<OpenedAccount>,
  { at, row }: { readonly row: Corridor; readonly at: Instant }
): ReadonlyArray<string> => {
  const { name } = accounts
  const { currency, direction } = row
  const able = opened.filter(
    ({ adapter, names, turn }) =>
      turn === "current" &&
      (direction === "payout" ? adapter.payouts : adapter.collections) !== undefined &&
      names(currency).length > 0
  )
  if (able.length === 0) return [`no account of ${name} makes ${direction}s in ${currency}`]
  const live = able.some(({ adapter }) => adapter.mode === "live") ? [] : [`${name} has no account in live mode`]
  return [...live, ...(accounts.contract === null ? [] : unpriced(accounts, row, at))]
}

/** A provider with a contract makes no payment that the contract has no fee for. */
const unpriced = (accounts: ProviderAccounts, row: Corridor, at: Instant): ReadonlyArray<string> => {
  const { country, currency, direction, method, minimum, networks } = row
  const wanted = networks.length === 0 ? [null] : networks
  const without = wanted.filter((network) => {
    const payment = { direction, country, method, network, amount: minimum ?? SAMPLE, at }
    return contractPrices([accounts], payment, currency).every(({ fee_minor: fee }) => fee === null)
  })
  if (without.length === 0) return []
  if (without.length === wanted.length) return [`no fee of ${accounts.name}'s contract covers this corridor`]
  return [`no fee of ${accounts.name}'s contract covers ${without.join(", ")} in this corridor`]
}
