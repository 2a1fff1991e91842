import { Effect } from "effect"
import { type ComponentChild, h } from "preact"
import { GatewayStatus } from "../../services/ports/GatewayStatus.ts"
import {
  type AccountWallets,
  accountName,
  type Coverage,
  coverageOf,
  isSurelyLess,
  WalletBalances
} from "../../services/reference/WalletBalances.ts"
import { badge, money, section, table, time, warning } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { page } from "../Route.ts"

/** The wallets at providers compared with the floats of all tenants. */
export const makeWallets = Effect.gen(function* () {
  const balances = yield* WalletBalances
  const status = yield* GatewayStatus

  const show = Effect.fn("WalletsPage.show")(function* () {
    const [accounts, { at, floats, floatsAreWhole }] = yield* Effect.all([balances.read, status.read], {
      concurrency: "unbounded"
    })
    return page("Wallets", [
      section(
        "Wallets against floats",
        h(
          "p",
          { class: "soft" },
          "A float is a promise to its tenant, and a wallet is the money that pays it. An account that did not answer is in no sum, and neither is money at a bank. An account before is perhaps another client of the same wallet: what it names stands beside, and is in no sum. Floats are as of ",
          time(at),
          "."
        ),
        warning(floatsAreWhole ? null : FLOATS_ARE_MISSING),
        table(
          "By mode and currency, of all providers and all tenants",
          ["Mode", "Currency", "In wallets", "In floats", "Difference", "Accounts before", "Without"],
          coverageOf(accounts, floats).map((one) => coverageRow(one, floatsAreWhole))
        )
      ),
      section(
        "Each account",
        table(
          "A figure is asked for again after half a minute at the earliest",
          ["Provider", "Mode", "Available", "Pending", "As of"],
          accounts.flatMap(accountRows),
          "No provider has an account here."
        )
      )
    ])
  })

  return {
    place: { to: "/wallets", name: "Wallets" },
    routes: [{ method: "GET", path: "/wallets", permission: "look", answer: show }]
  } satisfies Room
})

const FLOATS_ARE_MISSING =
  "A database server does not answer: the floats of its tenants are in no sum here, and no difference is known until it does."

const coverageRow = (coverage: Coverage, floatsAreWhole: boolean): ReadonlyArray<ComponentChild> => {
  const { before, currency, floats, mode, wallets, without } = coverage
  return [
    mode,
    currency,
    wallets === null ? "unknown" : money(wallets, currency),
    floatsAreWhole ? money(floats, currency) : ["at least ", money(floats, currency)],
    wallets === null || !floatsAreWhole
      ? "unknown"
      : wallets < floats
        ? [
            money(wallets - floats, currency),
            " ",
            badge(isSurelyLess(coverage) ? "less than the floats" : "perhaps less", "wait")
          ]
        : money(wallets - floats, currency),
    before === null ? "" : [money(before, currency), " perhaps the same wallets"],
    without.join(", ")
  ]
}

const accountRows = ({
  asOf,
  isPrevious,
  mode,
  provider,
  wallets
}: AccountWallets): ReadonlyArray<ReadonlyArray<ComponentChild>> => {
  const name = accountName({ isPrevious, provider })
  if (wallets === "unnamed") return [[name, mode, "names no balances", "", ""]]
  if (wallets === "unknown") return [[name, mode, badge("unknown: it did not answer", "bad"), "", time(asOf)]]
  if (wallets.length === 0) return [[name, mode, "has no wallet in a currency that is used here", "", time(asOf)]]
  return wallets.map(({ available, currency, pending }) => [
    name,
    mode,
    money(available, currency),
    pending === null ? "not named" : money(pending, currency),
    time(asOf)
  ])
}
