import { Effect, Layer } from "effect"
import type { Corridor } from "../domain/Corridor.ts"
import type { Instant } from "../domain/Instant.ts"
import { type MinorUnits, minor } from "../domain/Money.ts"
import { CorridorDoubts, type DoubtsOf } from "../services/ports/CorridorDoubts.ts"
import { ProviderSwitches, switchedOff } from "../services/ports/ProviderSwitches.ts"
import type { OpenedAccount, ProviderAccounts } from "./ProviderModule.ts"
import { contractPrices } from "./Registry.ts"

/** Used when the row has no minimum: an amount that most corridors accept. */
const SAMPLE: MinorUnits = minor(100_000n)

/** Opens the accounts to see what they can do, and closes them before it returns. */
export const corridorDoubts = Effect.fnUntraced(function* (
  accounts: ReadonlyArray<ProviderAccounts>,
  at: Instant,
  off: ReadonlySet<string>
): Effect.fn.Return<DoubtsOf> {
  const open = Effect.forEach(accounts, (own) => Effect.map(own.open, (opened) => ({ own, opened })))
  const known = yield* Effect.scoped(open)
  return (row, provider) => {
    const isOff = off.has(provider) ? [`${provider} is switched off for everybody`] : []
    const found = known.find(({ own }) => own.name === provider)
    if (found === undefined) return [...isOff, `${provider} has no account in the settings`]
    return [...isOff, ...doubtsOf(found.own, found.opened, { row, at })]
  }
})

export const corridorDoubtsBy = (accounts: ReadonlyArray<ProviderAccounts>) =>
  Layer.effect(
    CorridorDoubts,
    Effect.map(ProviderSwitches, ({ list }) => ({
      read: (at) => Effect.flatMap(list, (switches) => corridorDoubts(accounts, at, switchedOff(switches)))
    }))
  )

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

/** A provider with a contract refuses payments for which the contract has no fee. */
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
