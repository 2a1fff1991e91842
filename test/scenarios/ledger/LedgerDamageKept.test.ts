import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { DamagedLedger, type Given, type Planted } from "../../support/DamagedLedger.ts"

const gone = ["DELETE FROM idempotency_keys WHERE key = 'paid'", "DELETE FROM counters WHERE name = 'payout:day'"]
const foundAllTheSame = ({ appId, of }: Given) => [
  `records_have_their_key ${appId}/${of.paid}: its idempotency key is gone: the same request again would have made another payout`,
  expect.stringMatching(
    `^windows_are_counted ${appId}/live/payout:day/.*: the window says 0, its transactions were counted for 2$`
  )
]
const ago = (keys: string, windows: string) =>
  `UPDATE kept_since SET since = now() - CASE what WHEN 'keys' THEN interval '${keys}' ELSE interval '${windows}' END`

const place = ({ appId, of }: Given, name: keyof Given["of"]): string => `${appId}/${of[name]}`
const work = ({ of }: Given, name: keyof Given["of"], columns: string): string =>
  `UPDATE open_work SET ${columns} WHERE reference = '${of[name]}'`
const leftWork = ({ appId, of }: Given, name: keyof Given["of"], { column, value }: { column: string; value: string }): string =>
  `INSERT INTO open_work (app_id, reference, mode, created_at, is_open, next_poll_at, needs_review, ${column})
    VALUES ('${appId}', '${of[name]}', 'live', now(), false, now(), false, '${value}')
    ON CONFLICT (app_id, reference) DO UPDATE SET ${column} = EXCLUDED.${column}`

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
  },
  {
    promise: "open records with no question scheduled",
    damage: (given) => [work(given, "open", "next_poll_at = NULL"), work(given, "waiting", "next_poll_at = 'infinity'")],
    found: (given) => [
      `open_records_are_looked_after ${place(given, "open")}: it is open, nobody will ask the provider, and no person has to look`,
      `open_records_are_looked_after ${place(given, "waiting")}: it is open, and nobody will ask the provider before infinity`
    ]
  },
  {
    promise: "an open record that a lease keeps from being asked about",
    damage: (given) => [work(given, "open", "lease_until = '9999-01-01T00:00:00Z'")],
    found: (given) => [
      `open_records_are_looked_after ${place(given, "open")}: it is open, and a lease keeps everybody from asking until 9999-01-01 00:00:00+00`
    ]
  },
  {
    promise: "a recipient that is still stored although the payout is closed",
    damage: (given) => [
      leftWork(given, "paid", { column: "sealed_destination", value: "sealed" }),
      leftWork(given, "failed", { column: "beneficiary", value: '{"accountName":"Jane Doe"}' })
    ],
    found: (given) => [
      `closed_records_keep_no_secret ${place(given, "failed")}: the recipient's name is still there although it is failed`,
      `closed_records_keep_no_secret ${place(given, "paid")}: the sealed destination is still there although it is successful`
    ]
  },
  {
    promise: "work that was deleted while its record is open, work of no record, and work that nobody has to do",
    damage: (given) => [
      `DELETE FROM open_work WHERE reference = '${given.of.open}'`,
      `INSERT INTO open_work (app_id, reference, mode, created_at, is_open, needs_review) VALUES ('${given.appId}', 'GONE', 'live', now(), true, false)`,
      work(given, "paid", "next_poll_at = NULL"),
      work(given, "waiting", "is_open = false"),
      `INSERT INTO open_work (app_id, reference, mode, created_at, is_open, needs_review)
        VALUES ('${given.appId}', '${given.of.failed}', 'live', now(), false, true)`
    ],
    found: (given) => [
      `open_records_are_looked_after ${place(given, "open")}: it is open, nobody will ask the provider, and no person has to look`,
      expect.stringMatching(`^reserved_is_what_is_open ${given.appId}/live/UGX: reserved is 11000, what is open holds 0$`),
      `open_work_is_open ${given.appId}/GONE: work for a record that is not there`,
      `open_work_is_open ${place(given, "failed")}: the list of reviews has it, and its record needs nobody`,
      `open_work_is_open ${place(given, "paid")}: it is closed, and nothing is left to do`,
      expect.stringMatching(`^open_work_is_open ${place(given, "waiting")}: it is [a-z_]+, and counts as closed$`)
    ]
  }
]

layer(DamagedLedger.layer, { excludeTestServices: true })(
  "ledger verify, after damage to open work or to the dates since which rows are kept, finds",
  (it) => {
    for (const { damage, found, promise } of planted)
      it.effect(promise, () => Effect.flatMap(DamagedLedger, ({ finds }) => finds(damage, found)))
  }
)
