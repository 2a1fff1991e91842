import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { DamagedLedger, type Given, otherLines, type Planted } from "../../support/DamagedLedger.ts"

const place = ({ appId, of }: Given, name: keyof Given["of"]): string => `${appId}/${of[name]}`
const change = ({ of }: Given, name: keyof Given["of"], columns: string): string =>
  `UPDATE transactions SET ${columns} WHERE reference = '${of[name]}'`
const rewritten = (given: Given, name: keyof Given["of"], members: string): string =>
  change(given, name, `record = (record::jsonb || '${members}')::json`)
const notAsWritten = (given: Given, name: keyof Given["of"]): string =>
  `records_are_as_written ${place(given, name)}: the record is not the one that its last line was written with`

const planted: ReadonlyArray<Planted> = [
  { promise: "nothing where nothing was damaged", damage: () => [], found: () => [] },
  {
    promise: "a quote that was used twice",
    damage: (given) => [
      `UPDATE transactions SET record = (record::jsonb || jsonb_build_object('quoteId',
        (SELECT record->>'quoteId' FROM transactions WHERE reference = '${given.of.exchanged}')))::json WHERE reference = '${given.of.again}'`
    ],
    found: (given) => [
      notAsWritten(given, "again"),
      expect.stringMatching(
        `^quotes_are_used_once ${given.appId}/live/[0-9A-Z]{26}: one quote made 2 exchanges: [0-9A-Z]{26} and [0-9A-Z]{26}$`
      )
    ]
  },
  {
    promise: "an exchange that differs from its quote",
    damage: ({ of }) => [
      `UPDATE fx_quotes SET destination_minor = 20000
        WHERE quote_id = (SELECT record->>'quoteId' FROM transactions WHERE reference = '${of.exchanged}')`
    ],
    found: (given) => [
      `exchanges_keep_to_their_quote ${place(given, "exchanged")}: it says 5000 UGX for 17432 KES by eversend at 0.03486486486486, its quote 5000 UGX for 20000 KES by eversend at 0.03486486486486`
    ]
  },
  {
    promise: "a missing position",
    damage: ({ appId }) => [`DELETE FROM float_positions WHERE app_id = '${appId}' AND currency = 'RWF'`],
    found: ({ appId, of }) => [
      `open_records_have_their_position ${appId}/live/RWF: the position is not there that collection ${of.waiting} will move`
    ]
  },
  {
    promise: "columns that differ from the record",
    damage: (given) => [
      change(given, "paid", "needs_review = true"),
      change(given, "failed", "provider = 'mtn'"),
      change(given, "collected", "provider_reference = NULL"),
      change(given, "waiting", "created_at = created_at + interval '1 minute'")
    ],
    found: (given) => [
      expect.stringContaining(
        `columns_match_the_record ${place(given, "collected")}: its column provider_reference says nothing, its record `
      ),
      `columns_match_the_record ${place(given, "failed")}: its column provider says mtn, its record eversend`,
      `columns_match_the_record ${place(given, "paid")}: its column needs_review says true, its record false`,
      expect.stringContaining(`columns_match_the_record ${place(given, "waiting")}: its column created_at says `),
      `open_records_are_looked_after ${place(given, "paid")}: a person has to look at it, and the list of reviews leaves it out`
    ]
  },
  {
    promise: "a record that was changed by SQL, and a version that went back",
    damage: (given) => [
      rewritten(given, "paid", '{"maskedDestination": "••••9999"}'),
      rewritten(given, "collected", '{"version": 1}')
    ],
    found: (given) => [notAsWritten(given, "collected"), notAsWritten(given, "paid")]
  },
  {
    promise: "a line of the history whose writer, time, fact or words were changed",
    damage: (given) => [
      `UPDATE journal SET actor = 'operator' WHERE reference = '${given.of.paid}' AND revision = 1`,
      `UPDATE journal SET at = at - interval '1 millisecond' WHERE reference = '${given.of.failed}' AND revision = 2`,
      `UPDATE journal SET fact = 'Expired' WHERE reference = '${given.of.collected}' AND revision = 2`,
      `UPDATE journal SET note = note || ' as agreed' WHERE reference = '${given.of.open}' AND revision = 1`
    ],
    found: (given) => [
      ...(["collected", "failed", "open", "paid"] as const).map((name) => otherLines(given, name)),
      // The time of the line is no longer its event's.
      expect.stringMatching(`^events_are_as_written ${place(given, "failed")}: the event of .* is not there as it was$`),
      expect.stringMatching(
        `^events_are_as_written ${place(given, "failed")}: no step made the event .* payout.failed in these bytes$`
      )
    ]
  },
  {
    promise: "a call to a provider that was changed, taken away or invented",
    damage: (given) => [
      change(given, "paid", "raw_response = replace(raw_response, '200', '500')"),
      change(given, "failed", "raw_request = NULL, raw_response = NULL"),
      change(given, "exchanged", "raw_request = raw_request || ' '"),
      `UPDATE transactions SET raw_request = 'POST' WHERE reference = '${given.of.open}'`
    ],
    found: (given) =>
      (["exchanged", "failed", "open", "paid"] as const).map(
        (name) => `calls_are_as_written ${place(given, name)}: what is kept of its last call is not what a step wrote`
      )
  },
  {
    promise: "a provider's reference that leads to a record which never had it, is of the other mode or is not there",
    damage: ({ appId, of }) => [
      `INSERT INTO provider_references (provider, mode, provider_reference, app_id, reference) VALUES
        ('eversend', 'live', 'planted', '${appId}', '${of.paid}'),
        ('eversend', 'test', 'moved', '${appId}', '${of.failed}'),
        ('mtn', 'live', 'lost', '${appId}', 'nothing')`
    ],
    found: (given) => [
      `provider_references_were_written ${given.appId}/nothing: mtn's lost leads to a record that is not there`,
      `provider_references_were_written ${place(given, "failed")}: eversend's moved leads to it in test mode`,
      `provider_references_were_written ${place(given, "paid")}: no step wrote that eversend calls it planted`
    ]
  },
  {
    promise: "a beneficiary that was moved to the other mode",
    damage: () => ["UPDATE beneficiaries SET mode = 'test' WHERE id = (SELECT min(id) FROM beneficiaries)"],
    found: ({ appId }) => [
      expect.stringMatching(
        `^beneficiaries_were_paid ${appId}/test/[0-9A-Z]{26}: a beneficiary whom no test payout of this tenant went to$`
      )
    ]
  },
  {
    promise: "an end without a beginning, and a failure without a reason",
    damage: (given) => [
      rewritten(given, "open", '{"completedAt": 1}'),
      rewritten(given, "paid", '{"completedAt": null}'),
      rewritten(given, "collected", '{"completedAt": 1}'),
      rewritten(given, "failed", '{"failure": null}')
    ],
    found: (given) => [
      `closed_records_say_so ${place(given, "collected")}: it was completed before it was made`,
      `closed_records_say_so ${place(given, "failed")}: it failed, and nobody knows why`,
      `closed_records_say_so ${place(given, "open")}: it is open, and completed all the same`,
      `closed_records_say_so ${place(given, "paid")}: it is closed, and nobody knows since when`,
      ...(["collected", "failed", "open", "paid"] as const).map((name) => notAsWritten(given, name))
    ]
  }
]

layer(DamagedLedger.layer, { excludeTestServices: true })("ledger verify, after damage to positions or records, finds", (it) => {
  for (const { damage, found, promise } of planted)
    it.effect(promise, () => Effect.flatMap(DamagedLedger, ({ finds }) => finds(damage, found)))
})
