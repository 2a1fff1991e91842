import { PgClient } from "@effect/sql-pg"
import { describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { expect } from "vitest"
import { gateway, givenUrl, installedOn } from "./Gateway.ts"

/** A tenant with a float, whose tables are then spoilt by hand. */
const spoilt = (...statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const url = yield* givenUrl
    const run = (...args: ReadonlyArray<string>) => gateway(installed, ...args, "--json")
    const installed = installedOn(url)
    yield* run("tenant", "create", "acme")
    const amount = ["--currency", "UGX", "--amount-minor", "5000"]
    yield* run("float", "credit", "acme", "--mode", "live", ...amount, "--external-id", "e", "--note", "n")
    expect(yield* run("ledger", "verify")).toMatchObject({ code: 0, errors: "" })
    const sql = yield* PgClient.makeClient({ url: Redacted.make(url) })
    for (const statement of statements) yield* sql.unsafe(statement)
    const { code, errors, output } = yield* run("ledger", "verify")
    const { differences, ok }: { ok: boolean; differences: ReadonlyArray<{ rule: string }> } = JSON.parse(output)
    expect({ code, ok }).toEqual({ code: 1, ok: false })
    expect(errors).toBe(`the ledger has ${differences.length} differences: see docs/runbooks/ledger-difference.md`)
    return [...new Set(differences.map(({ rule }) => rule))].sort()
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))

const record = {
  kind: "payout",
  status: "pending",
  appId: "acme",
  reference: "R",
  mode: "live",
  provider: "p",
  needsReview: false,
  currency: "UGX",
  amount: "900",
  fees: null,
  principal: "900",
  heldFee: "100",
  returned: null,
  createdAt: 1_795_248_000_000
}
/** The check that keeps an entry whole: whoever owns the table can take it away. */
const unchecked = "ALTER TABLE journal DROP CONSTRAINT entry_is_whole"
/** A payout with its key and its history, for which no money was posted. */
const payout = (status: string): ReadonlyArray<string> => [
  `INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at)
    VALUES ('acme', 'R', 'live', 'payout', '${status}', false, 'p', 1, '${JSON.stringify(record)}', to_timestamp(1795248000))`,
  ...(status === "pending"
    ? [
        `INSERT INTO open_work (app_id, reference, mode, created_at, is_open, next_poll_at, needs_review)
          VALUES ('acme', 'R', 'live', to_timestamp(1795248000), true, to_timestamp(1795248015), false)`
      ]
    : []),
  `INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, record_digest)
    SELECT app_id, reference, 1, mode, created_at, 'request', 'Opened', '', status, record_digest(record::text) FROM transactions`,
  key("R")
]
const key = (reference: string) =>
  `INSERT INTO idempotency_keys (app_id, mode, endpoint, key, fingerprint, fence, state, lease_until, reference, created_at)
    VALUES ('acme', 'live', 'POST /v1/payouts', 'key of ${reference}', '', 1, 'pinned', now(), '${reference}', now())`

describe("ledger verify", () => {
  it.effect("finds an amount that was changed", () =>
    Effect.gen(function* () {
      const more = "UPDATE journal SET amounts[p] = amounts[p] + 1 FROM generate_series(1, 2) p WHERE accounts[p] = 'available'"
      const rules = yield* spoilt(unchecked, more)
      expect(rules).toEqual(["entries_balance", "entries_have_a_cause", "positions_are_the_fold"])
    })
  )

  it.effect("finds a position that was changed", () =>
    Effect.gen(function* () {
      const rules = yield* spoilt(
        "UPDATE float_positions SET available_minor = available_minor + 1, credited_minor = credited_minor + 1"
      )
      expect(rules).toEqual(["positions_are_the_fold"])
    })
  )

  it.effect("finds an entry without its cause, and a cause without its entry", () =>
    Effect.gen(function* () {
      expect(yield* spoilt("DELETE FROM float_adjustments")).toEqual(["adjustments_are_audited", "entries_have_a_cause"])
      expect(yield* spoilt("DELETE FROM journal")).toEqual(["entries_have_a_cause", "positions_are_the_fold"])
    })
  )

  it.effect("finds an entry that is posted twice", () =>
    Effect.gen(function* () {
      const again = `INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, slot, phase, currencies, accounts, amounts)
        SELECT app_id, reference, 2, mode, at, actor, fact, note, slot, phase, currencies, accounts, amounts FROM journal`
      const rules = yield* spoilt(
        again,
        "UPDATE float_positions SET available_minor = available_minor * 2, credited_minor = credited_minor * 2"
      )
      expect(rules).toEqual(["entries_are_whole", "slots_are_used_once"])
    })
  )

  it.effect("finds a payout whose money was never reserved, and one whose status column differs from its record", () =>
    Effect.gen(function* () {
      expect(yield* spoilt(...payout("pending"))).toEqual(["entries_match_the_status", "reserved_is_what_is_open"])
      expect(yield* spoilt(...payout("successful"))).toEqual([
        "closed_records_say_so",
        "columns_match_the_record",
        "entries_match_the_status",
        "outcomes_were_told"
      ])
    })
  )

  it.effect("finds a reservation that differs from the record, and a key without a record", () =>
    Effect.gen(function* () {
      const rules = yield* spoilt(
        ...payout("pending"),
        `UPDATE journal SET slot = 'open', phase = 'reserve', currencies = '{UGX,UGX}', accounts = '{available,reserved}', amounts = '{-999,999}'
          WHERE reference = 'R'`,
        "UPDATE transactions SET slots = '{open}'",
        "UPDATE float_positions SET available_minor = available_minor - 999, reserved_minor = 999",
        key("NONE")
      )
      expect(rules).toEqual(["entries_match_the_record", "keys_are_linked", "reserved_is_what_is_open"])
    })
  )

  it.effect("reports a row that cannot be read, and still checks everything else", () =>
    Effect.gen(function* () {
      const rules = yield* spoilt(
        ...payout("pending"),
        `UPDATE transactions SET record = (record::jsonb || '{"principal": "much"}')::json`,
        "DELETE FROM float_adjustments"
      )
      expect(rules).toEqual([
        "adjustments_are_audited",
        "corrections_make_the_record",
        "entries_have_a_cause",
        "entries_match_the_record",
        "entries_match_the_status",
        "records_are_as_written",
        "reserved_is_what_is_open"
      ])
    })
  )

  it.effect("checks changes alone once all was checked, and finds what was damaged since", () =>
    Effect.gen(function* () {
      const url = yield* givenUrl
      const installed = installedOn(url)
      const run = (...args: ReadonlyArray<string>) => gateway(installed, ...args, "--json")
      const amount = ["--mode", "live", "--currency", "UGX", "--amount-minor", "5000", "--note", "n"]
      yield* run("tenant", "create", "acme")
      const refused = yield* run("ledger", "verify", "--changed")
      expect([refused.code, refused.errors]).toEqual([1, expect.stringContaining("run gateway ledger verify")])
      yield* run("ledger", "verify")
      yield* run("float", "credit", "acme", ...amount, "--external-id", "after")
      const sound = yield* run("ledger", "verify", "--changed")
      expect([sound.code, JSON.parse(sound.output)]).toMatchObject([0, { ok: true, seen: 1, differences: [] }])
      const sql = yield* PgClient.makeClient({ url: Redacted.make(url) })
      yield* sql`UPDATE float_positions SET available_minor = available_minor + 1, credited_minor = credited_minor + 1`
      yield* sql`DELETE FROM float_adjustments`
      const { code, output } = yield* run("ledger", "verify", "--changed")
      const { differences }: { differences: ReadonlyArray<{ rule: string }> } = JSON.parse(output)
      expect(code).toBe(1)
      expect(new Set(differences.map(({ rule }) => rule))).toEqual(
        new Set(["positions_are_the_fold", "adjustments_are_audited", "entries_have_a_cause"])
      )
    }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
  )

  it.effect("is told one way to check at a time", () =>
    Effect.gen(function* () {
      const url = yield* givenUrl
      const installed = installedOn(url)
      yield* gateway(installed, "tenant", "create", "acme")
      for (const flags of [
        ["--changed", "--minutes", "5"],
        ["--since", "2026-11-21T00:00:00Z"]
      ])
        expect(yield* gateway(installed, "ledger", "verify", ...flags)).toMatchObject({ code: 2, output: "" })
    })
  )
})
