import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { DamagedLedger, type Given, otherLines, type Planted } from "../../support/DamagedLedger.ts"

const place = ({ appId, of }: Given, name: keyof Given["of"]): string => `${appId}/${of[name]}`
const key = ({ appId }: Given, endpoint: string, name: string): string => `${appId}/live/POST /v1/${endpoint}/${name}`
const change = ({ of }: Given, name: keyof Given["of"], columns: string): string =>
  `UPDATE transactions SET ${columns} WHERE reference = '${of[name]}'`
const lines = ({ of }: Given, name: keyof Given["of"], which: string): string =>
  `DELETE FROM journal WHERE reference = '${of[name]}' AND ${which}`
const event = ({ of }: Given, name: keyof Given["of"], what: string): string =>
  `UPDATE events SET ${what} WHERE reference = '${of[name]}' AND type LIKE '%.successful'`
const instead = (text: string, by: string): string => `body = replace(body, '${text}', '${by}')`
const otherAnswer = (given: Given, endpoint: string, name: string): string =>
  `answers_are_as_written ${key(given, endpoint, name)}: its stored answer is not the one that was given`
const lost = (given: Given, name: keyof Given["of"]) =>
  expect.stringMatching(`^events_are_as_written ${place(given, name)}: the event of .* is not there as it was$`)
const forged = (given: Given, name: keyof Given["of"], type: string) =>
  expect.stringMatching(
    `^events_are_as_written ${place(given, name)}: no step made the event [0-9A-Z]{26} ${type} in these bytes$`
  )
const notAsWritten = (given: Given, name: keyof Given["of"]): string =>
  `records_are_as_written ${place(given, name)}: the record is not the one that its last line was written with`
/** The record says another amount, and the next step has signed it. */
const signed = ({ of }: Given, name: keyof Given["of"], member: string): ReadonlyArray<string> => [
  `UPDATE transactions SET record = regexp_replace(record::text, '"${member}":"[0-9]+"', '"${member}":"10001"')::json WHERE reference = '${of[name]}'`,
  `UPDATE journal j SET record_digest = record_digest(t.record::text) FROM transactions t
    WHERE t.reference = '${of[name]}' AND j.app_id = t.app_id AND j.reference = t.reference AND j.revision = t.revision`
]
const announced = (given: Given, name: keyof Given["of"], type: string, which = "amount"): string =>
  expect.stringMatching(
    `^events_say_the_amount ${place(given, name)}: its event ${type} says the ${which} [0-9]+, its record 10001$`
  )
const hour = "date_trunc('hour', now(), 'UTC')"

const planted: ReadonlyArray<Planted> = [
  {
    promise: "lines whose digests are missing",
    damage: ({ of }) => [
      `UPDATE journal SET record_digest = NULL, event_digest = NULL, answer_digest = NULL WHERE reference = '${of.paid}'`,
      "UPDATE idempotency_keys SET answer_digest = NULL WHERE key = 'refused'"
    ],
    found: (given) => [
      otherAnswer(given, "payouts", "paid"),
      otherAnswer(given, "payouts", "refused"),
      forged(given, "paid", "payout.pending"),
      forged(given, "paid", "payout.successful"),
      otherLines(given, "paid"),
      notAsWritten(given, "paid")
    ]
  },
  {
    promise: "a payout whose key is missing, and a key of another kind",
    damage: () => [
      "DELETE FROM idempotency_keys WHERE key = 'paid'",
      "UPDATE idempotency_keys SET endpoint = 'POST /v1/payouts' WHERE key = 'collected'"
    ],
    found: (given) => [
      otherAnswer(given, "payouts", "collected"),
      `records_have_their_key ${place(given, "collected")}: its idempotency key is gone: the same request again would have made another collection`,
      `records_have_their_key ${place(given, "paid")}: its idempotency key is gone: the same request again would have made another payout`
    ]
  },
  {
    promise: "deleted history: the first line, all of it, a step without its line, and the history left of a deleted record",
    damage: (given) => [
      lines(given, "collected", "fact = 'Opened'"),
      change(given, "open", "revision = revision + 1"),
      lines(given, "waiting", "true"),
      `INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status)
        VALUES ('${given.appId}', 'GONE', 1, 'live', now(), 'request', 'Opened', '', 'pending')`
    ],
    found: (given) => [
      `history_is_whole ${given.appId}/GONE: 1 lines of a record that is not there`,
      expect.stringMatching(`^history_is_whole ${place(given, "collected")}: [0-9]+ lines of [0-9]+ steps$`),
      expect.stringMatching(`^history_is_whole ${place(given, "waiting")}: 0 lines of [0-9]+ steps$`),
      expect.stringMatching(`^history_is_whole ${place(given, "open")}: [0-9]+ lines of [0-9]+ steps$`),
      notAsWritten(given, "open"),
      notAsWritten(given, "waiting"),
      forged(given, "collected", "collection.pending"),
      otherLines(given, "collected"),
      forged(given, "waiting", "collection.pending"),
      forged(given, "waiting", "webhook.test"),
      otherAnswer(given, "collections", "waiting")
    ]
  },
  {
    promise: "rewritten history: another beginning, another end, a step that was skipped, and one that was written twice",
    damage: ({ of }) => [
      `UPDATE journal SET fact = 'Accepted' WHERE reference = '${of.open}' AND fact = 'Opened'`,
      `UPDATE journal SET status = 'failed' WHERE reference = '${of.paid}' AND status = 'successful'`,
      `UPDATE journal SET revision = 99 WHERE reference = '${of.collected}' AND revision = 2`,
      `INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, record_digest)
        SELECT app_id, reference, revision, mode, at + interval '1 second', actor, fact, note, status, record_digest FROM journal
        WHERE reference = '${of.waiting}' AND revision = 2`
    ],
    found: (given) => [
      `history_is_whole ${place(given, "open")}: its first line is not that it was opened`,
      `history_is_whole ${place(given, "paid")}: its last line does not say that it is successful`,
      `history_is_whole ${place(given, "collected")}: its lines are those of the steps 1 to 99`,
      expect.stringMatching(`^history_is_whole ${place(given, "waiting")}: [0-9]+ lines of [0-9]+ steps$`),
      `history_is_whole ${place(given, "waiting")}: 2 lines of the step 2`,
      ...(["collected", "open", "paid", "waiting"] as const).map((name) => otherLines(given, name))
    ]
  },
  {
    promise: "an event whose bytes were altered, even by a blank, or whose type was",
    damage: (given) => [
      event(given, "paid", instead('"status":"successful"', '"status":"failed"')),
      event(given, "collected", instead('"api_version":"v1"', '"api_version": "v1"')),
      event(given, "exchanged", "type = 'fx.failed'")
    ],
    found: (given) => [
      lost(given, "paid"),
      forged(given, "paid", "payout.successful"),
      lost(given, "collected"),
      forged(given, "collected", "collection.successful"),
      lost(given, "exchanged"),
      forged(given, "exchanged", "fx.failed"),
      `outcomes_were_told ${place(given, "exchanged")}: no event fx.successful`
    ]
  },
  {
    promise: "an amount of a payout that its events do not say, although its last line was written with it: open, failed",
    damage: (given) => [...signed(given, "open", "amount"), ...signed(given, "failed", "amount")],
    found: (given) => [
      announced(given, "open", "payout.pending"),
      announced(given, "failed", "payout.pending"),
      announced(given, "failed", "payout.failed")
    ]
  },
  {
    promise: "another amount of a payout that was paid, another amount that arrives",
    damage: (given) => [...signed(given, "paid", "amount"), ...signed(given, "open", "destinationAmount")],
    found: (given) => [
      announced(given, "paid", "payout.pending"),
      announced(given, "paid", "payout.successful"),
      announced(given, "open", "payout.pending", "destination amount")
    ]
  },
  {
    promise: "another amount of a collection",
    damage: (given) => signed(given, "waiting", "amount"),
    found: (given) => [announced(given, "waiting", "collection.pending"), announced(given, "waiting", "collection.updated")]
  },
  {
    promise: "another amount of an exchange, which its entries and its quote say, too",
    damage: (given) => signed(given, "exchanged", "amount"),
    found: (given) => [
      announced(given, "exchanged", "fx.successful"),
      expect.stringContaining(`entries_match_the_record ${place(given, "exchanged")}/reserve/reserved: `),
      expect.stringContaining(`entries_match_the_record ${place(given, "exchanged")}/exchange/reserved: `),
      expect.stringContaining(`entries_match_the_record ${place(given, "exchanged")}/exchange/fx_out: `),
      expect.stringContaining(`exchanges_keep_to_their_quote ${place(given, "exchanged")}: `)
    ]
  },
  {
    promise: "no amount in an event that says none, that is no JSON, or that was purged",
    damage: (given) => [
      ...signed(given, "open", "amount"),
      ...signed(given, "failed", "amount"),
      `UPDATE events SET body = replace(body, '"amount_minor"', '"amount"') WHERE reference = '${given.of.open}'`,
      `UPDATE events SET body = '{"data":{' WHERE reference = '${given.of.failed}' AND type = 'payout.pending'`,
      `DELETE FROM events WHERE reference = '${given.of.failed}' AND type = 'payout.failed'`
    ],
    found: (given) => [
      lost(given, "open"),
      forged(given, "open", "payout.pending"),
      lost(given, "failed"),
      lost(given, "failed"),
      forged(given, "failed", "payout.pending"),
      `outcomes_were_told ${place(given, "failed")}: no event payout.failed`
    ]
  },
  {
    promise: "an event that was deleted while its delivery waits, and one that was never written",
    damage: (given) => [
      `UPDATE deliveries SET status = 'parked', next_attempt_at = NULL WHERE event_id = (SELECT id FROM events
        WHERE reference = '${given.of.paid}' AND type = 'payout.successful')`,
      "DELETE FROM due_deliveries q USING deliveries d WHERE d.id = q.id AND d.status = 'parked'",
      `DELETE FROM events WHERE reference = '${given.of.paid}' AND type = 'payout.successful'`,
      `INSERT INTO events SELECT app_id, 'FORGED', mode, 'payout.returned', reference, body, created_at FROM events
        WHERE reference = '${given.of.failed}' AND type = 'payout.failed'`
    ],
    found: (given) => [
      `outcomes_were_told ${place(given, "paid")}: no event payout.successful`,
      lost(given, "paid"),
      expect.stringMatching(
        `^deliveries_have_their_event ${given.appId}/[0-9A-Z]{26}: a delivery that is parked, of an event that is not there$`
      ),
      `events_are_as_written ${place(given, "failed")}: no step made the event FORGED payout.returned in these bytes`
    ]
  },
  {
    promise: "an event that was moved to another mode or another time, where no list and no recovery finds it",
    damage: ({ of }) => [
      `UPDATE events SET mode = 'test' WHERE reference = '${of.paid}' AND type = 'payout.pending'`,
      `UPDATE events SET created_at = created_at + interval '1 second' WHERE reference = '${of.failed}' AND type = 'payout.pending'`
    ],
    found: (given) => (["paid", "failed"] as const).flatMap((name) => [lost(given, name), forged(given, name, "payout.pending")])
  },
  {
    promise: "an event without a delivery to an endpoint that subscribes to it",
    damage: ({ of }) => [
      "UPDATE webhook_endpoints SET updated_at = updated_at - interval '2 hours'",
      `DELETE FROM deliveries WHERE event_id = (SELECT id FROM events WHERE reference = '${of.paid}' AND type = 'payout.successful')`
    ],
    found: ({ appId }) => [
      expect.stringMatching(
        `^events_have_their_delivery ${appId}/[0-9A-Z]{26}: the endpoint wants payout.successful, and this one is not delivered to it$`
      )
    ]
  },
  {
    promise: "deliveries that are due and nobody claims, and one that is claimed and is not due",
    damage: ({ of }) => [
      "DELETE FROM due_deliveries",
      `UPDATE deliveries SET status = 'due', next_attempt_at = now() WHERE event_id = (SELECT id FROM events
        WHERE reference = '${of.paid}' AND type = 'payout.successful')`,
      `UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL WHERE event_id = (SELECT id FROM events
        WHERE reference = '${of.failed}' AND type = 'payout.failed')`,
      `INSERT INTO due_deliveries SELECT d.app_id, d.mode, now(), d.id, d.created_at FROM deliveries d JOIN events e ON e.id = d.event_id
        WHERE e.reference = '${of.failed}' AND e.type = 'payout.failed'`
    ],
    found: ({ appId }) => [
      expect.stringMatching(`^deliveries_come_due ${appId}/[0-9A-Z]{26}: it is due, and does not wait to be delivered$`),
      expect.stringMatching(`^deliveries_come_due ${appId}/[0-9A-Z]{26}: it waits to be delivered, and is not due$`)
    ]
  },
  {
    promise: "deliveries that were postponed for ever",
    damage: ({ of }) => [
      `UPDATE deliveries d SET status = 'due', next_attempt_at = CASE e.reference WHEN '${of.paid}' THEN 'infinity' ELSE now() END,
        completed_at = NULL FROM events e WHERE e.id = d.event_id AND e.type IN ('payout.successful', 'payout.failed')`,
      "DELETE FROM due_deliveries",
      "INSERT INTO due_deliveries SELECT app_id, mode, next_attempt_at, id, created_at FROM deliveries WHERE status = 'due'",
      "DELETE FROM webhook_flights",
      `INSERT INTO webhook_flights SELECT d.app_id, d.mode, ARRAY[d.id], '{infinity}' FROM deliveries d JOIN events e ON e.id = d.event_id
        WHERE e.reference = '${of.failed}' AND e.type = 'payout.failed'`
    ],
    found: ({ appId }) => [
      expect.stringMatching(`^deliveries_come_due ${appId}/[0-9A-Z]{26}: nobody will deliver it before infinity$`),
      expect.stringMatching(`^deliveries_come_due ${appId}/[0-9A-Z]{26}: a lease keeps everybody from delivering it`)
    ]
  },
  {
    promise: "stored answers that were altered, swapped, or made from a refusal",
    damage: () => [
      "UPDATE idempotency_keys SET answer_body = convert_to(replace(convert_from(answer_body, 'UTF8'), 'pending', 'failed'), 'UTF8') WHERE key = 'paid'",
      "UPDATE idempotency_keys SET answer_status = 200 WHERE key = 'collected'",
      "UPDATE idempotency_keys k SET answer_body = o.answer_body FROM idempotency_keys o WHERE k.key = 'again' AND o.key = 'exchanged'",
      `UPDATE idempotency_keys SET answer_status = 201, answer_body = '{"code":201}', answer_digest = NULL WHERE key = 'refused'`,
      "INSERT INTO idempotency_keys SELECT app_id, mode, endpoint, 'another', fingerprint, fence, state, lease_until, reference, answer_status, answer_body, created_at, answer_digest FROM idempotency_keys WHERE key = 'refused'",
      `UPDATE idempotency_keys SET answer_status = 422, answer_body = '{"code":422}', answer_digest = 'other' WHERE key = 'another'`
    ],
    found: (given) => [
      otherAnswer(given, "payouts", "paid"),
      otherAnswer(given, "collections", "collected"),
      otherAnswer(given, "fx/exchange", "again"),
      otherAnswer(given, "payouts", "another"),
      `answers_are_as_written ${key(given, "payouts", "refused")}: a success of no transaction`
    ]
  },
  {
    promise: "a forged answer of a time that has no end",
    damage: () => ["UPDATE idempotency_keys SET answer_status = 200, created_at = 'infinity' WHERE key = 'collected'"],
    found: (given) => [otherAnswer(given, "collections", "collected")]
  },
  {
    promise: "limit windows that were set to zero, and a missing one, but none that was removed when due",
    damage: () => [
      "UPDATE counters SET used = 0 WHERE name = 'payout:hour'",
      "DELETE FROM counters WHERE name = 'payout:day'",
      `UPDATE transactions SET counted = (SELECT json_agg(jsonb_set(n, '{starts_at}', to_jsonb(${hour} - interval '9 days'))) FROM jsonb_array_elements(counted::jsonb) n
        WHERE n->>'name' LIKE 'collection:%') WHERE kind = 'collection'`,
      "DELETE FROM counters WHERE name LIKE 'collection:%'",
      `UPDATE kept_since SET since = ${hour} - interval '8 days' WHERE what = 'windows'`
    ],
    found: ({ appId }) => [
      expect.stringMatching(
        `^windows_are_counted ${appId}/live/payout:day/\\d{4}-[-: 0-9]+\\+00: the window says 0, its transactions were counted for 2$`
      ),
      expect.stringMatching(
        `^windows_are_counted ${appId}/live/payout:hour/\\d{4}-[-: 0-9]+\\+00: the window says 0, its transactions were counted for 2$`
      )
    ]
  },
  {
    promise: "two records with the same transaction of a provider",
    damage: (given) => [
      change(
        given,
        "open",
        `provider_reference = (SELECT provider_reference FROM transactions WHERE reference = '${given.of.paid}')`
      )
    ],
    found: (given) => [
      expect.stringContaining(`columns_match_the_record ${place(given, "open")}: its column provider_reference says `),
      expect.stringContaining(`provider_references_are_found ${place(given, "open")}: a callback that carries only eversend's `),
      expect.stringMatching("^provider_references_are_used_once eversend/live/.*: the same payout of the provider is 2 of ours: ")
    ]
  },
  {
    promise: "a refund that no longer counts at the collection that it refunds",
    damage: (given) => [
      change(given, "paid", `record = regexp_replace(record::text, '}\\s*$', ',"refundOf":"${given.of.collected}"}')::json`),
      `UPDATE journal j SET record_digest = record_digest(t.record::text) FROM transactions t
        WHERE t.reference = '${given.of.paid}' AND j.app_id = t.app_id AND j.reference = t.reference AND j.revision = t.revision`
    ],
    found: (given) => [
      `refunds_are_found ${place(given, "paid")}: it refunds ${given.of.collected}, of which as much could be refunded again`
    ]
  },
  {
    promise: "not two records with one transaction's name at two accounts of a provider",
    damage: (given) => [
      change(
        given,
        "open",
        `provider_reference = (SELECT provider_reference FROM transactions WHERE reference = '${given.of.paid}'),
          record = jsonb_set(record::jsonb, '{account}', '"of another account"')::json`
      )
    ],
    found: (given) => [
      expect.stringContaining(`columns_match_the_record ${place(given, "open")}: its column provider_reference says `),
      expect.stringContaining(`provider_references_are_found ${place(given, "open")}: a callback that carries only eversend's `),
      notAsWritten(given, "open")
    ]
  }
]

layer(DamagedLedger.layer, { excludeTestServices: true })("ledger verify, after damage to requests or events, finds", (it) => {
  for (const { damage, found, promise } of planted)
    it.effect(promise, () => Effect.flatMap(DamagedLedger, ({ finds }) => finds(damage, found)))
})
