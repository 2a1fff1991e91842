import { it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { Database } from "../../../src/persistence/Database.ts"
import { applyStatement } from "../../../src/persistence/ledger/ApplySteps.ts"
import { openStatement } from "../../../src/persistence/ledger/OpenSteps.ts"
import { recordText } from "../../../src/persistence/StoredRecord.ts"
import type { OpenOutcome } from "../../../src/services/ports/FloatLedger.ts"
import { type Books, emptyBooks, payerName, positionName, storedWindow } from "../../support/LedgerBooks.ts"
import { foldApply, foldOpen, hex } from "../../support/LedgerFold.ts"
import { seeded } from "../../support/Random.ts"
import { randomSteps, type StepSource, scopeOf } from "../../support/RandomSteps.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const STORIES = 120
const BATCHES = 18
const KEYS = 24
const STEPS_AT_MOST = 7

const traceparent = null
/** The seed of what is drawn; another one is another 2,160 batches. */
const { PROPERTY_SEED = "1" } = process.env
const seed = PROPERTY_SEED === "any" ? Date.now() : Number(PROPERTY_SEED)

/** The story's tenants with their claimed keys, payers and float, in the database and in the books. */
const givenStory = Effect.fnUntraced(function* (source: StepSource, story: number, float: () => readonly [bigint, bigint]) {
  const sql = yield* SqlClient.SqlClient
  const books = emptyBooks()
  for (const [index, appId] of source.tenants.entries()) {
    const status = index === 1 && story % 4 === 0 ? "frozen" : "active"
    if (status === "frozen") books.frozen.add(appId)
    yield* sql`INSERT INTO tenants (app_id, status, capabilities, created_at) VALUES (${appId}, ${status}, '{payouts}', now())`
    const keys = yield* sql<{ key: string; fence: bigint }>`
      INSERT INTO idempotency_keys (app_id, mode, endpoint, key, fingerprint, fence, state, lease_until, created_at)
      SELECT ${appId}, 'live', 'POST /v1/payouts', 'key' || n, '\\x00', nextval('fences'), 'claimed', now(), now()
      FROM generate_series(1, ${KEYS}::int) n RETURNING key, fence`
    for (const { fence, key } of keys)
      books.keys.set(scopeOf(appId, key), { fence, state: "claimed", reference: null, answer: null })
    for (const hash of source.hashes.slice(0, 2)) {
      yield* sql`INSERT INTO payer_locks (app_id, mode, party_hash, at) VALUES (${appId}, 'live', ${hash}, now())`
      books.payers.set(payerName(appId, hex(hash) ?? ""), { reference: null, recent: [] })
    }
    const [available, receivable] = float()
    yield* sql`INSERT INTO float_positions (app_id, mode, currency, available_minor, receivable_minor, credited_minor)
      VALUES (${appId}, 'live', 'UGX', ${available}, ${receivable}, ${available - receivable})`
    books.positions.set(
      positionName(appId, "UGX"),
      new Map([
        ["available", available],
        ["receivable", receivable],
        ["credited", available - receivable]
      ])
    )
  }
  const wanted = ["payout.pending", "payout.successful"].slice(story % 2)
  yield* sql`INSERT INTO webhook_endpoints (app_id, mode, url, events, enabled, secret_sealed, created_at, updated_at)
    VALUES (${source.tenants[0]}, 'live', 'https://a.example/', ${wanted}, true, '\\x00', now(), now())`
  books.wanted.set(source.tenants[0], wanted)
  return books
})

const ms = (column: string) => `(extract(epoch FROM ${column}) * 1000)::bigint`
const amounts = [
  "available",
  "reserved",
  "collected",
  "paid_out",
  "provider_fees",
  "credited",
  "fx_in",
  "fx_out",
  "returned",
  "receivable"
] as const

/** Every row that a money step writes, of these tenants. A window without a row is unused. */
const everyRow = `
SELECT 'keys' AS name, json_build_array(app_id, key, state, reference, answer_status, convert_from(answer_body, 'UTF8')) AS row
  FROM idempotency_keys WHERE app_id = ANY ($1)
UNION ALL SELECT 'payers', json_build_array(app_id, encode(party_hash, 'hex'), reference,
    (SELECT json_agg(k ORDER BY k) FROM jsonb_object_keys(recent) k)) FROM payer_locks WHERE app_id = ANY ($1)
UNION ALL SELECT 'windows', json_build_array(app_id, mode, name, subject, ${ms("starts_at")}, used::text) FROM counters
  WHERE used > 0 AND (app_id = ANY ($1) OR app_id = '' AND subject = $2)
UNION ALL SELECT 'positions', json_build_array(app_id, currency, ${amounts.map((one) => `${one}_minor::text`).join(", ")}, debited_minor::text)
  FROM float_positions WHERE app_id = ANY ($1)
UNION ALL SELECT 'transactions', json_build_array(app_id, reference, mode, kind, status, needs_review, provider, provider_reference, revision::text,
    record::text, encode(party_hash, 'hex'), (SELECT coalesce(json_agg(json_build_object('app_id', c.app_id, 'mode', c.mode, 'name', c.name, 'subject', c.subject,
      'starts_at', to_char(c.starts_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'amount', c.amount::text)), '[]')
      FROM counted_windows(app_id, mode, party_hash, counted) c), raw_request, raw_response, slots, ${ms("created_at")}) FROM transactions WHERE app_id = ANY ($1)
UNION ALL SELECT 'work', json_build_array(app_id, reference, mode, ${ms("created_at")}, is_open, ${ms("next_poll_at")}, needs_review,
    encode(sealed_destination, 'hex'), beneficiary, lease_until) FROM open_work WHERE app_id = ANY ($1)
UNION ALL SELECT 'journal', json_build_array(app_id, reference, revision::text, ${ms("at")}, actor, fact, note, status, slot, phase, currencies, accounts,
    (SELECT coalesce(json_agg(a::text), '[]') FROM unnest(amounts) a), encode(record_digest, 'hex'), encode(event_digest, 'hex'), encode(answer_digest, 'hex'))
  FROM journal WHERE app_id = ANY ($1)
UNION ALL SELECT 'names', json_build_array(concat_ws(' ', provider, mode, provider_reference, app_id, reference)) FROM provider_references WHERE app_id = ANY ($1)
UNION ALL SELECT 'beneficiaries', json_build_array(app_id, encode(party_hash, 'hex'), id, ${ms("created_at")}, ${ms("last_used_at")})
  FROM beneficiaries WHERE app_id = ANY ($1)
UNION ALL SELECT 'events', json_build_array(app_id, id, type, reference, body, ${ms("created_at")}) FROM events WHERE app_id = ANY ($1)
UNION ALL SELECT 'deliveries', json_build_array(d.app_id, d.id, ${ms("q.next_attempt_at")}) FROM deliveries d
  JOIN due_deliveries q ON q.app_id = d.app_id AND q.id = d.id AND d.event_id = d.id AND d.status = 'due' WHERE d.app_id = ANY ($1)`

/** The same of the books. */
const rowsOf = (books: Books): Readonly<Record<string, ReadonlyArray<ReadonlyArray<unknown>>>> => ({
  keys: [...books.keys].map(([name, { answer, reference, state }]) => [
    name.split(" ")[0],
    name.split(" ").at(-1),
    state,
    reference,
    ...(answer ?? [null, null])
  ]),
  payers: [...books.payers].map(([name, { recent, reference }]) => [
    ...name.split(" "),
    reference,
    recent.length === 0 ? null : [...recent].sort()
  ]),
  windows: [...books.windows]
    .filter(([, used]) => used > 0n)
    .map(([name, used]) => {
      const [appId, mode, window, subject, startsAt] = name.split(" ")
      return [appId, mode, window, subject, Number(startsAt), String(used)]
    }),
  positions: [...books.positions].map(([name, position]) => [
    ...name.split(" "),
    ...amounts.map((one) => String(position.get(one) ?? 0n)),
    "0"
  ]),
  transactions: [...books.transactions].map(([reference, { counted, createdAt, partyHash, raw, record, revision, slots }]) => [
    record.appId,
    reference,
    record.mode,
    record.kind,
    record.status,
    record.needsReview,
    record.provider,
    record.providerReference,
    String(revision),
    recordText(record),
    partyHash,
    counted.map(storedWindow),
    ...raw,
    slots,
    createdAt
  ]),
  work: [...books.work].map(([reference, { beneficiary, isOpen, needsReview, nextPollAt, sealed }]) => {
    const stored = books.transactions.get(reference)
    return [
      stored?.record.appId,
      reference,
      "live",
      stored?.createdAt,
      isOpen,
      nextPollAt,
      needsReview,
      sealed,
      beneficiary,
      null
    ]
  }),
  journal: books.journal,
  names: [...books.names].map((name) => [name]),
  beneficiaries: [...books.beneficiaries].map(([name, { at, id, usedAt }]) => [...name.split(" "), id, at, usedAt]),
  events: books.events,
  deliveries: books.deliveries
})

const sorted = (rows: ReadonlyArray<unknown>) => rows.map((row) => JSON.stringify(row)).sort()

const outcomeOf = ({ failed_window, reservable, verdict }: { verdict: string; reservable: bigint; failed_window: number }) =>
  verdict === "ShortFloat"
    ? { _tag: verdict, available: reservable }
    : verdict === "OverCap"
      ? { _tag: verdict, counter: failed_window - 1 }
      : { _tag: verdict }

it.live(
  `money steps decide and write what a fold of the same steps does, in ${STORIES * BATCHES} batches`,
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const seen = new Set<string>()
      for (let story = 0; story < STORIES; story++) {
        const random = seeded(seed * 1_000_003 + story)
        const source = randomSteps(random, story)
        let books = yield* givenStory(source, story, () => [
          BigInt(random.below(600)),
          random.chance(0.3) ? BigInt(random.below(200)) : 0n
        ])
        for (let batch = 0; batch < BATCHES; batch++) {
          const size = random.chance(0.3) ? 1 : 2 + random.below(STEPS_AT_MOST - 1)
          const before = structuredClone(books)
          if (batch % 2 === 0) {
            const steps = Array.from({ length: size }, () => source.opening(books))
            const folded: ReadonlyArray<OpenOutcome> = steps.map((step) => foldOpen(books, step))
            const rows = yield* sql.unsafe<{ verdict: string; reservable: bigint; failed_window: number }>(
              ...openStatement(steps.map((step) => ({ ...step, traceparent })))
            )
            expect(rows.map(outcomeOf), `story ${story}, batch ${batch}, seed ${seed}`).toStrictEqual(folded)
            for (const { _tag } of folded) seen.add(_tag)
          } else {
            const steps = Array.from({ length: size }, () => source.applying(books, size === 1))
            const folded = foldApply(books, steps)
            const exit = yield* Effect.exit(
              sql.unsafe<{ applied: boolean }>(...applyStatement(steps.map((step) => ({ ...step, traceparent }))))
            )
            const found = Exit.isSuccess(exit)
              ? exit.value.map(({ applied }) => ({ _tag: applied ? "Applied" : "Stale" }))
              : "refused"
            if (found !== "refused" || folded !== "refused")
              expect(found, `story ${story}, batch ${batch}, seed ${seed}: ${JSON.stringify(exit)}`).toStrictEqual(folded)
            if (folded === "refused") books = before
            for (const one of folded === "refused" ? ["refused"] : folded.map(({ _tag }) => _tag)) seen.add(one)
          }
        }
        const rows = yield* sql.unsafe<{ name: string; row: ReadonlyArray<unknown> }>(everyRow, [
          [...source.tenants],
          String(story)
        ])
        for (const [name, expected] of Object.entries(rowsOf(books)))
          expect(
            sorted(rows.filter((one) => one.name === name).map(({ row }) => row)),
            `${name} of story ${story}, seed ${seed}`
          ).toStrictEqual(sorted(expected))
      }
      expect([...seen].sort()).toStrictEqual([
        "Applied",
        "ClaimLost",
        "Frozen",
        "Opened",
        "OverCap",
        "PayerBusy",
        "ShortFloat",
        "Stale",
        "refused"
      ])
    }).pipe(
      Effect.provide(Layer.unwrap(Effect.map(givenDatabase, (url) => Database.layer({ url }))), { local: true }),
      Effect.scoped
    ),
  120_000
)
