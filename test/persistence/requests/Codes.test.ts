import { expect, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, type Mode, Reference } from "../../../src/domain/Ids.ts"
import { effectiveLimits, windowUse } from "../../../src/domain/VelocityLimits.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { CodesPg } from "../../../src/persistence/requests/CodesPg.ts"
import { PayerLocksPg } from "../../../src/persistence/requests/PayerLocksPg.ts"
import { VaultPg } from "../../../src/persistence/vault/VaultPg.ts"
import { type CodeAttempt, Codes } from "../../../src/services/ports/Codes.ts"
import { PayerLocks } from "../../../src/services/ports/PayerLocks.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { givenTenantRow } from "../../support/TenantRow.ts"
import { givenDatabase, masterKey } from "../../support/TestDatabase.ts"

const appId = AppId.make("acme")
const reference = Reference.make("00000000000000000000000001")
const partyHash = new Uint8Array(32).fill(7)
const hashOf = (code: number) => new Uint8Array(32).fill(code)
const LEASE_MS = 90_000

const attempt = (code: number, change: Partial<CodeAttempt> = {}): CodeAttempt => ({
  appId,
  mode: "live",
  reference,
  partyHash,
  codeHash: hashOf(code),
  holder: null,
  claim: null,
  at: NOON,
  leaseMs: LEASE_MS,
  wrongAtMost: 2,
  ...change
})
const wrong = (code: number) => ({ appId, mode: "live", reference, partyHash, codeHash: hashOf(code), claim: null }) as const

/** A collection that waits for a code, and nobody charging its payer. */
const given = Effect.gen(function* () {
  const url = yield* givenDatabase
  const context = yield* Layer.build(
    Layer.mergeAll(CodesPg, PayerLocksPg).pipe(
      Layer.provide(VaultPg.layer(masterKey)),
      Layer.provideMerge(Database.layer({ url })),
      Layer.fresh
    )
  )
  yield* Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* givenTenantRow(sql, appId, [])
    yield* sql`INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, party_hash, created_at)
      VALUES (${appId}, ${reference}, 'live', 'collection', 'requires_action', false, 'eversend', 1, '{}', ${partyHash}, now())`
    yield* (yield* PayerLocks).charges(appId, "live", partyHash)
  }).pipe(Effect.provideContext(context))
  return context
})

const story = <A, E>(promise: string, body: Effect.Effect<A, E, Codes | PayerLocks | SqlClient.SqlClient>) =>
  it.effect(promise, () => Effect.flatMap(given, (context) => Effect.provideContext(body, context)).pipe(Effect.scoped))

const begin = Effect.fnUntraced(function* (...given: Parameters<typeof attempt>) {
  return (yield* (yield* Codes).begin(attempt(...given)))._tag
})

story(
  "lets one code of sixteen on its way",
  Effect.gen(function* () {
    const codes = Array.from({ length: 16 }, (_, code) => begin(code))
    const answers = yield* Effect.all(codes, { concurrency: "unbounded" })
    expect(answers.toSorted()).toStrictEqual([...Array.from({ length: 15 }, () => "Busy"), "Leased"])
  })
)

story(
  "never sends another code while nobody knows what became of the last one",
  Effect.gen(function* () {
    expect(yield* begin(1)).toBe("Leased")
    expect(yield* begin(1, { at: NOON + LEASE_MS - 1 })).toBe("Busy")
    expect(yield* begin(1, { at: NOON + LEASE_MS })).toBe("Unheard")
    const { close } = yield* Codes
    expect(yield* close(reference, NOON)).toBe("leased")
    expect(yield* close(reference, NOON + LEASE_MS)).toBe("unheard")
  })
)

story(
  "counts different wrong codes, knows the same one again, and gives the payer free, who is looked for still",
  Effect.gen(function* () {
    const codes = yield* Codes
    const locks = yield* PayerLocks
    expect(yield* begin(1)).toBe("Leased")
    expect(yield* locks.charges(appId, "live", partyHash)).toStrictEqual({ holder: reference, placed: [{ reference, at: NOON }] })
    expect(yield* codes.wrong(wrong(1))).toBe(1)
    expect(yield* codes.wrong(wrong(1))).toBe(1)
    expect(yield* locks.charges(appId, "live", partyHash)).toStrictEqual({ holder: null, placed: [{ reference, at: NOON }] })
    expect(yield* begin(1)).toBe("KnownWrong")
    expect(yield* begin(2)).toBe("Leased")
    expect(yield* codes.wrong(wrong(2))).toBe(2)
    expect(yield* begin(3)).toBe("Spent")
    expect(yield* codes.close(reference, NOON)).toBe("wrong")
    expect(yield* codes.close(reference, NOON)).toBe("wrong")
  })
)

story(
  "gives transaction and payer free where a code was not said, which is not spent",
  Effect.gen(function* () {
    const codes = yield* Codes
    const locks = yield* PayerLocks
    for (const _ of [1, 2, 3]) {
      expect(yield* begin(1)).toBe("Leased")
      yield* codes.unsaid(wrong(1))
      expect(yield* locks.charges(appId, "live", partyHash)).toMatchObject({ holder: null })
    }
    expect(yield* codes.close(reference, NOON)).toBe("free")
  })
)

story(
  "remembers every charge of a number for an hour, newest first, also one whose code was wrong",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const locks = yield* PayerLocks
    const codes = yield* Codes
    const earlier = [1, 2, 3].map((n) => ({
      reference: Reference.make(`1000000000000000000000000${n}`),
      at: NOON - n * 1_200_000
    }))
    for (const { at, reference } of earlier.toReversed())
      yield* sql`UPDATE payer_locks SET reference = ${reference}, recent = add_charge(recent, ${reference}, to_timestamp(${at / 1000}))`
    expect(yield* begin(1, { holder: earlier[0]?.reference ?? null })).toBe("Leased")
    const placed = earlier.slice(0, 2)
    const all = [{ reference, at: NOON }, ...placed]
    expect(yield* locks.charges(appId, "live", partyHash)).toStrictEqual({ holder: reference, placed: all })
    yield* codes.wrong(wrong(1))
    expect(yield* locks.charges(appId, "live", partyHash)).toStrictEqual({ holder: null, placed: all })
  })
)

story(
  "sends no code for a payer that somebody else charges, a transaction that moved on, or a frozen tenant",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const other = Reference.make("00000000000000000000000002")
    expect(yield* begin(1, { holder: other })).toBe("PayerBusy")
    yield* sql`UPDATE tenants SET status = 'frozen'`
    expect(yield* begin(1)).toBe("Frozen")
    yield* sql`UPDATE transactions SET status = 'expired'`
    expect(yield* begin(1)).toBe("Moved")
  })
)

const number = { appId, mode: "live", partyHash } as const
const bounds = { perNumber: 2, windowMs: 600_000 }
const free = { _tag: "Granted" }
const fullUntil = (freeAt: number) => ({ _tag: "NumberFull", freeAt })

story(
  "counts the codes of a number within their window, in both modes together",
  Effect.gen(function* () {
    const codes = yield* Codes
    const ask = (at: number, mode: Mode = "live") => codes.request({ ...number, mode, at, counters: [] }, bounds)
    expect(yield* ask(NOON)).toEqual(free)
    expect(yield* ask(NOON + 1_000, "test")).toEqual(free)
    expect(yield* ask(NOON + 2_000)).toEqual(fullUntil(NOON + 600_000))
    expect(yield* ask(NOON + 600_000, "test")).toEqual(free)
    expect(yield* ask(NOON + 600_001)).toEqual(fullUntil(NOON + 601_000))
  })
)

story(
  "does not count a code that was not sent, and each of them once",
  Effect.gen(function* () {
    const codes = yield* Codes
    const code = (at: number) => ({ ...number, at, counters: [] })
    const ask = (at: number) => codes.request(code(at), bounds)
    expect([yield* ask(NOON), yield* ask(NOON), yield* ask(NOON)]).toEqual([free, free, fullUntil(NOON + 600_000)])
    yield* codes.unsent(code(NOON))
    expect([yield* ask(NOON + 1), yield* ask(NOON + 1)]).toEqual([free, fullUntil(NOON + 600_000)])
    yield* codes.unsent(code(NOON + 2))
    expect(yield* ask(NOON + 3)).toEqual(fullUntil(NOON + 600_000))
  })
)

story(
  "counts a code in every window of its tenant or in none, and gives back what was not sent",
  Effect.gen(function* () {
    const codes = yield* Codes
    const sql = yield* SqlClient.SqlClient
    const counters = (hour: number, day: number) =>
      effectiveLimits("live", "code", [
        { mode: "live", direction: "code", window: "hour", count: hour },
        { mode: "live", direction: "code", window: "day", count: day }
      ]).map((limit) => windowUse(appId, limit, "", NOON))
    const ask = (hour: number, day: number, digit: number) =>
      codes.request({ ...number, partyHash: hashOf(digit), at: NOON, counters: counters(hour, day) }, bounds)
    const used = Effect.map(sql<{ used: bigint }>`SELECT used FROM counters ORDER BY name`, (rows) => rows.map((row) => row.used))
    expect(yield* ask(1, 2, 1)).toEqual(free)
    expect(yield* ask(1, 2, 2)).toMatchObject({ _tag: "TenantFull", counter: { name: "code:hour" } })
    expect(yield* used).toEqual([1n, 1n])
    expect(yield* ask(2, 1, 3)).toMatchObject({ _tag: "TenantFull", counter: { name: "code:day" } })
    expect(yield* used).toEqual([1n, 1n])
    yield* codes.unsent({ ...number, partyHash: hashOf(1), at: NOON, counters: counters(1, 2) })
    yield* codes.unsent({ ...number, partyHash: hashOf(1), at: NOON, counters: counters(1, 2) })
    expect(yield* used).toEqual([0n, 0n])
    expect(yield* ask(0, 2, 4)).toMatchObject({ _tag: "TenantFull", counter: { name: "code:hour" } })
    expect(yield* used).toEqual([0n, 0n])
  })
)

story(
  "knows whose code it sent, of this tenant, this mode and this number, and with which account",
  Effect.gen(function* () {
    const codes = yield* Codes
    const code = { ...number, pinId: "VE1", account: "one" }
    yield* codes.sent(code, NOON)
    expect(yield* codes.sentBy(code)).toEqual(Option.some("one"))
    for (const other of [{ pinId: "VE2" }, { mode: "test" as const }, { appId: AppId.make("other") }, { partyHash: hashOf(9) }])
      expect([other, yield* codes.sentBy({ ...code, ...other })]).toEqual([other, Option.none()])
    yield* codes.sent({ ...code, account: null }, NOON)
    expect(yield* codes.sentBy(code)).toEqual(Option.some(null))
  })
)

story(
  "are over once their window passed with none on its way: no charge can be placed any more",
  Effect.gen(function* () {
    const codes = yield* Codes
    expect(yield* codes.close(reference, NOON)).toBe("free")
    expect(yield* begin(1)).toBe("Moved")
    expect(yield* codes.close(reference, NOON)).toBe("free")
  })
)
