import { expect, it } from "vitest"
import { walletLines } from "../../src/console/WalletLines.ts"
import type { Currency } from "../../src/domain/Currency.ts"
import type { Mode } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import type { AccountWallets } from "../../src/services/reference/WalletBalances.ts"
import { NOON } from "../support/SampleTransactions.ts"

const account = (provider: string, wallets: AccountWallets["wallets"], isPrevious = false): AccountWallets => ({
  provider,
  mode: "live",
  isPrevious,
  asOf: NOON,
  wallets
})
const wallet = (currency: Currency, available: bigint) => ({ currency, available: minor(available), pending: null })
const float = (currency: Currency, available: bigint, reserved = 0n) => ({ mode: "live" as Mode, currency, available, reserved })

it("names a wallet that is empty where tenants have floats, and no other", () => {
  const accounts = [
    account("eversend", [wallet("UGX", 0n), wallet("KES", 0n)]),
    account("mtn", [wallet("UGX", 5_000n)]),
    account("old", [wallet("UGX", 0n)], true)
  ]
  expect(walletLines(accounts, [float("UGX", 4_000n)])).toStrictEqual(["a wallet is empty: eversend live, UGX"])
})

it("names a currency whose wallets hold less than was promised, of what can be spent and what is reserved", () => {
  const accounts = [account("eversend", [wallet("KES", 100_050n)]), account("mtn", [wallet("UGX", 900n)], true)]
  expect(walletLines(accounts, [float("KES", 100_000n, 51n), float("UGX", 1_000_000n), float("GHS", 0n)])).toStrictEqual([
    "wallets hold less than the floats: 1,000.50 of KES 1,000.51, live",
    "wallets hold less than the floats: 900 of UGX 1,000,000, live"
  ])
  expect(walletLines(accounts, [float("KES", 100_000n, 50n), float("UGX", 900n)])).toStrictEqual([])
})

it("accuses no currency while an account's wallets are not known: they may hold the rest", () => {
  for (const other of ["unknown", "unnamed"] as const)
    expect(
      walletLines([account("eversend", [wallet("UGX", 900n)]), account("mtn", other)], [float("UGX", 1_000n)])
    ).toStrictEqual([])
})
