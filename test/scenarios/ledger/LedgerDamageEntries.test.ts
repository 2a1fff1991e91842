import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { DamagedLedger, type Given, type Planted } from "../../support/DamagedLedger.ts"

const place = ({ appId, of }: Given, name: keyof Given["of"]): string => `${appId}/${of[name]}`
const entry = ({ of }: Given, name: keyof Given["of"], slot: string, columns: string): string =>
  `UPDATE journal SET ${columns} WHERE reference = '${of[name]}' AND slot = '${slot}'`
/** What an entry posts, in UGX. */
const postings = (...lines: ReadonlyArray<readonly [account: string, amount: number]>): string =>
  `currencies = array_fill('UGX'::text, ARRAY[${lines.length}]), accounts = '{${lines.map(([account]) => account)}}', amounts = '{${lines.map(([, amount]) => amount)}}'`
/** Whoever owns the tables can take their checks away. */
const unchecked = "ALTER TABLE journal DROP CONSTRAINT entry_is_whole"
interface Adjustment {
  readonly revision: number
  readonly direction: string
  readonly slot: string
  readonly available: number
}
const adjustment = ({ appId }: Given, { available, direction, revision, slot }: Adjustment): ReadonlyArray<string> => [
  `INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, slot, phase, currencies, accounts, amounts)
    VALUES ('${appId}', 'ADJUSTED', ${revision}, 'live', now(), 'operator', 'Credited', '', '${slot}', '${direction}', '{UGX,UGX}',
      '{available,${direction}ed}', '{${available},${-available}}')`,
  `UPDATE float_positions SET available_minor = available_minor + ${available}, ${direction}ed_minor = ${direction}ed_minor
    ${direction === "debit" ? "-" : "+"} ${available} WHERE app_id = '${appId}' AND currency = 'UGX'`
]
const adjusted = ({ appId }: Given, direction: string): string =>
  `INSERT INTO float_adjustments VALUES ('${appId}', 'live', 'x', 'ADJUSTED', '${direction}', 'UGX', 500, 'n', now(), '{}')`
const change = ({ of }: Given, name: keyof Given["of"], columns: string): string =>
  `UPDATE transactions SET ${columns} WHERE reference = '${of[name]}'`
const notAsWritten = (given: Given, name: keyof Given["of"]): string =>
  `records_are_as_written ${place(given, name)}: the record is not the one that its last line was written with`
/** A correction that no audit row names, as the next step of a payout. */
const corrected = ({ of }: Given, slot: string, amount: number): ReadonlyArray<string> => [
  `INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, slot, phase, currencies, accounts, amounts, record_digest)
    SELECT app_id, reference, revision + 1, mode, at, 'review', 'Resolved', '', status, '${slot}', 'correct', '{UGX,UGX}', '{available,paid_out}',
      '{${-amount},${amount}}', record_digest FROM journal WHERE reference = '${of.paid}' ORDER BY revision DESC LIMIT 1`,
  `UPDATE transactions SET revision = revision + 1, slots = slots || '${slot}'::text WHERE reference = '${of.paid}'`
]

const planted: ReadonlyArray<Planted> = [
  {
    promise: "a correction in the place of another, and a second one of the same case",
    damage: (given) => [...corrected(given, "correction-2", 50), ...corrected(given, "correction-3", -50)],
    found: (given) => [
      `corrections_are_one_a_case ${place(given, "paid")}/correction-2: it is correction 1 of its record`,
      `corrections_are_one_a_case ${place(given, "paid")}/correction-3: a second correction of one case`,
      ...["correction-2", "correction-3"].map(
        (slot) => `resolutions_are_audited ${place(given, "paid")}/${slot}: a correction that no audit row names`
      ),
      `resolutions_are_audited ${place(given, "paid")}: resolved 2 times, the audit log says 0`
    ]
  },
  {
    promise: "a debit that was posted as a credit",
    damage: (given) => [
      adjusted(given, "debit"),
      ...adjustment(given, { revision: 1, direction: "debit", slot: "open", available: 500 })
    ],
    found: ({ appId }) => [
      `adjustments_are_audited ${appId}/live/x: a debit without its audit row`,
      `entries_have_a_cause ${appId}/ADJUSTED/open: a debit that is not its adjustment's`
    ]
  },
  {
    promise: "one credit posted twice, in two slots",
    damage: (given) => [
      adjusted(given, "credit"),
      ...adjustment(given, { revision: 1, direction: "credit", slot: "open", available: 500 }),
      ...adjustment(given, { revision: 2, direction: "credit", slot: "close", available: 500 })
    ],
    found: ({ appId }) => [
      `adjustments_are_audited ${appId}/live/x: a credit without its audit row`,
      `entries_stand_in_their_slot ${appId}/ADJUSTED/close: a credit that stands where a second one could follow it`
    ]
  },
  {
    promise: "one credit posted twice, in one slot",
    damage: (given) => [
      adjusted(given, "credit"),
      ...adjustment(given, { revision: 1, direction: "credit", slot: "open", available: 500 }),
      ...adjustment(given, { revision: 2, direction: "credit", slot: "open", available: 500 })
    ],
    found: ({ appId }) => [
      `adjustments_are_audited ${appId}/live/x: a credit without its audit row`,
      `entries_are_whole ${appId}/ADJUSTED/open: available UGX is posted 2 times`,
      `entries_are_whole ${appId}/ADJUSTED/open: credited UGX is posted 2 times`,
      `slots_are_used_once ${appId}/ADJUSTED/open: 2 entries in one slot`
    ]
  },
  {
    promise: "a record that forgot a slot, so that it could be posted again, and one that knows a slot too many",
    damage: (given) => [change(given, "paid", "slots = '{open}'"), change(given, "open", "slots = '{open,close}'")],
    found: (given) => [
      `records_know_their_slots ${place(given, "open")}: it knows the slots [open,close], its entries stand in [open]`,
      expect.stringMatching(
        `^records_know_their_slots ${place(given, "paid")}: it knows the slots \\[open\\], its entries stand in \\[(open,close|close,open)\\]$`
      )
    ]
  },
  {
    promise: "an entry without postings, postings without an entry, and a posting of nothing",
    damage: (given) => [
      unchecked,
      entry(given, "failed", "open", "currencies = '{}', accounts = '{}', amounts = '{}'"),
      `UPDATE journal SET phase = NULL, slot = NULL WHERE reference = '${given.of.open}' AND slot = 'open'`,
      entry(
        given,
        "paid",
        "close",
        "currencies = currencies || '{UGX}', accounts = accounts || '{drift}', amounts = amounts || '{0}'"
      )
    ],
    found: (given) => [
      `entries_are_whole ${place(given, "failed")}/open: an entry without postings`,
      `entries_are_whole ${place(given, "open")}/1: postings of no entry`,
      `entries_are_whole ${place(given, "paid")}/close: a posting without its currency, account or amount`,
      `entries_match_the_record ${place(given, "failed")}/reserve/reserved: posted 0, the record says 11000`,
      `entries_match_the_status ${place(given, "open")}: payout pending has the entries [], not [reserve]`,
      ...["available", "reserved"].map((account) =>
        expect.stringContaining(`positions_are_the_fold ${given.appId}/live/UGX/${account}: the position says `)
      ),
      `records_know_their_slots ${place(given, "open")}: it knows the slots [open], its entries stand in []`
    ]
  },
  {
    promise: "float that was created beside a settlement",
    damage: (given) => [
      entry(
        given,
        "paid",
        "close",
        "currencies = currencies || '{UGX,UGX}', accounts = accounts || '{available,credited}', amounts = amounts || '{700,-700}'"
      ),
      `UPDATE float_positions SET available_minor = available_minor + 700, credited_minor = credited_minor + 700
        WHERE app_id = '${given.appId}' AND currency = 'UGX'`
    ],
    found: (given) => [
      `entries_keep_to_their_accounts ${place(given, "paid")}/close: a settle of the payout posts -700 UGX to credited, which is not its own`
    ]
  },
  {
    promise: "a step that was moved to another tenant",
    damage: ({ of }) => [`UPDATE journal SET app_id = 'foreign' WHERE reference = '${of.collected}' AND slot = 'close'`],
    found: (given) => [
      `entries_have_a_cause foreign/${given.of.collected}/close: an entry of no transaction`,
      `entries_match_the_status ${place(given, "collected")}: collection successful has the entries [], not [collect]`,
      expect.stringContaining(`events_are_as_written ${place(given, "collected")}: no step made the event `),
      expect.stringContaining(`events_are_as_written foreign/${given.of.collected}: the event of `),
      expect.stringMatching(`^history_is_whole ${place(given, "collected")}: [1-9] lines of [1-9] steps$`),
      `history_is_whole foreign/${given.of.collected}: 1 lines of a record that is not there`,
      ...["available", "collected", "provider_fees"].flatMap((account) =>
        [given.appId, "foreign"].map((appId) =>
          expect.stringMatching(
            `^positions_are_the_fold ${appId}/live/UGX/${account}: the position says [0-9]+, its postings [0-9]+$`
          )
        )
      ),
      notAsWritten(given, "collected"),
      `records_know_their_slots ${place(given, "collected")}: it knows the slots [close], its entries stand in []`
    ]
  },
  {
    promise: "a posting that was taken out of an entry, and postings that stand in it twice",
    damage: (given) => [
      unchecked,
      entry(given, "collected", "close", postings(["collected", -20_000], ["provider_fees", 300])),
      entry(
        given,
        "failed",
        "open",
        "currencies = currencies || '{UGX,UGX}', accounts = accounts || '{available,reserved}', amounts = amounts || '{1,-1}'"
      )
    ],
    found: (given) => [
      `entries_are_whole ${place(given, "failed")}/open: available UGX is posted 2 times`,
      `entries_are_whole ${place(given, "failed")}/open: reserved UGX is posted 2 times`,
      `entries_balance ${place(given, "collected")}/close: UGX sums to -19700`,
      `entries_match_the_record ${place(given, "failed")}/reserve/reserved: posted 10999, the record says 11000`,
      ...["available", "reserved"].map((account) =>
        expect.stringContaining(`positions_are_the_fold ${given.appId}/live/UGX/${account}: the position says `)
      )
    ]
  },
  {
    promise: "an exchange with only one half posted",
    damage: ({ appId, of }) => [
      `UPDATE journal SET currencies = (SELECT array_agg(currency) FROM postings p WHERE p.reference = '${of.exchanged}' AND slot = 'close' AND currency = 'UGX'),
        accounts = (SELECT array_agg(account) FROM postings p WHERE p.reference = '${of.exchanged}' AND slot = 'close' AND currency = 'UGX'),
        amounts = (SELECT array_agg(amount_minor) FROM postings p WHERE p.reference = '${of.exchanged}' AND slot = 'close' AND currency = 'UGX')
        WHERE reference = '${of.exchanged}' AND slot = 'close'`,
      `UPDATE float_positions SET available_minor = available_minor / 2, fx_in_minor = fx_in_minor / 2
        WHERE app_id = '${appId}' AND currency = 'KES'`
    ],
    found: (given) => [`entries_match_the_record ${place(given, "exchanged")}/exchange/fx_in: posted 0, the record says -17432`]
  }
]

layer(DamagedLedger.layer, { excludeTestServices: true })("ledger verify, after damage to entries, finds", (it) => {
  // A line is changed with its entry, which the digest of its history finds, too.
  for (const { damage, found, promise } of planted)
    it.effect(promise, () => Effect.flatMap(DamagedLedger, ({ finds }) => finds(damage, found, "history_is_as_written")))
})
