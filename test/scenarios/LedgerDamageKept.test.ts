import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { DamagedLedger, type Given, type Planted } from "../support/DamagedLedger.ts"

const gone = ["DELETE FROM idempotency_keys WHERE key = 'paid'", "DELETE FROM counters WHERE name = 'payout:day'"]
const foundAllTheSame = ({ appId, of }: Given) => [
  `records_have_their_key ${appId}/${of.paid}: its idempotency key is gone: the same request again would have made another payout`,
  expect.stringMatching(
    `^windows_are_counted ${appId}/live/payout:day/.*: the window says 0, its transactions were counted for 2$`
  )
]
const ago = (keys: string, windows: string) =>
  `UPDATE kept_since SET since = now() - CASE what WHEN 'keys' THEN interval '${keys}' ELSE interval '${windows}' END`

const planted: ReadonlyArray<Planted> = [
  {
    promise: "the missing dates since which keys and windows are kept, and the missing rows",
    damage: () => ["DELETE FROM kept_since", ...gone],
    found: (given) => [
      "keys_are_kept_long_enough keys: nothing says since when they are all there",
      "windows_are_kept_long_enough windows: nothing says since when they are all there",
      ...foundAllTheSame(given)
    ]
  },
  {
    promise: "dates that say that keys and windows were removed too early, and the missing rows",
    damage: () => ["UPDATE kept_since SET since = 'infinity'", ...gone],
    found: (given) => [
      "keys_are_kept_long_enough keys: they are all there since infinity only, and are to be kept for 90 days",
      "windows_are_kept_long_enough windows: they are all there since infinity only, and are to be kept for 7 days",
      ...foundAllTheSame(given)
    ]
  },
  {
    promise: "dates that say that rows were removed slightly too early",
    damage: () => [ago("89 days 22 hours", "6 days 22 hours")],
    found: () => [
      expect.stringMatching("^keys_are_kept_long_enough keys: .* only, and are to be kept for 90 days$"),
      expect.stringMatching("^windows_are_kept_long_enough windows: .* only, and are to be kept for 7 days$")
    ]
  },
  {
    promise: "nothing where rows were removed when due",
    damage: () => [ago("90 days", "8 days")],
    found: () => []
  },
  {
    promise: "nothing right after an upgrade of a database with transactions",
    damage: () => [ago("90 days", "7 days")],
    found: () => []
  }
]

layer(DamagedLedger.layer, { excludeTestServices: true })(
  "ledger verify, after damage to the dates since which rows are kept, finds",
  (it) => {
    for (const { damage, found, promise } of planted)
      it.effect(promise, () => Effect.flatMap(DamagedLedger, ({ finds }) => finds(damage, found)))
  }
)
