import type { FloatTotal } from "../services/ports/GatewayStatus.ts"
import { type AccountWallets, coverageOf, isSurelyLess } from "../services/reference/WalletBalances.ts"
import { amountText } from "./Elements.ts"

/**
 * For the list of what needs attention: each wallet that is empty while tenants have floats in its currency, and each currency
 * in which all wallets together certainly hold less than the floats.
 */
export const walletLines = (
  accounts: ReadonlyArray<AccountWallets>,
  floats: ReadonlyArray<Pick<FloatTotal, "mode" | "currency" | "available" | "reserved">>
): ReadonlyArray<string> => {
  const coverage = coverageOf(accounts, floats)
  const isPromised = (mode: string, currency: string) =>
    coverage.some((one) => one.mode === mode && one.currency === currency && one.floats > 0n)
  const empty = accounts.flatMap(({ isPrevious, mode, provider, wallets }) =>
    isPrevious || typeof wallets === "string"
      ? []
      : wallets
          .filter(({ available, currency }) => available <= 0n && isPromised(mode, currency))
          .map(({ currency }) => `a wallet is empty: ${provider} ${mode}, ${currency}`)
  )
  const less = coverage.filter(isSurelyLess).map(({ before, currency, floats: promised, mode, wallets }) => {
    const held = amountText((wallets ?? 0n) + (before ?? 0n), currency)
    return `wallets hold less than the floats: ${held} of ${currency} ${amountText(promised, currency)}, ${mode}`
  })
  return [...empty, ...less]
}
