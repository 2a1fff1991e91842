import { PgClient } from "@effect/sql-pg"
import { Clock, Context, Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import {
  askedAgain,
  askedBySmall,
  askedOfChanges,
  askedOfStretch,
  changedIn,
  isAskedOfChanges,
  isAskedOfStretches,
  isAskedOnce,
  valuesOf
} from "../../src/persistence/ledger/LedgerChanges.ts"
import { breachesStatement } from "../../src/persistence/ledger/LedgerRule.ts"
import { ledgerSlices, type Slice, slicingOn } from "../../src/persistence/ledger/LedgerSlices.ts"
import { ledgerRules } from "../../src/persistence/ledger/LedgerVerificationPg.ts"
import { momoCharge, momoPayout } from "./RequestBodies.ts"
import { referenceOf } from "./SignedClient.ts"
import { givenStack, tenantOn, verified, webhooksOf } from "./Stack.ts"

/** What is planted, with the tenant and the records to plant it in, and every difference that is found then. */
export interface Planted {
  readonly promise: string
  readonly damage: (given: Given) => ReadonlyArray<string>
  readonly found: (given: Given) => ReadonlyArray<string>
}

export interface Given {
  readonly appId: string
  /** The reference of each record, by what became of it. */
  readonly of: Readonly<Record<"paid" | "failed" | "open" | "collected" | "waiting" | "exchanged" | "again", string>>
}

/** That lines of a record are not those that were written. */
export const otherLines = ({ appId, of }: Given, name: keyof Given["of"]): string =>
  expect.stringMatching(
    `^history_is_as_written ${appId}/${of[name]}: its lines up to [0-9]+ are not those that its digest was made of$`
  )

/** The database of a gateway that did one thing of each kind and was stopped, and what can be found in a damaged copy of it. */
export class DamagedLedger extends Context.Service<
  DamagedLedger,
  {
    /** Plants it, and finds exactly these differences, each as "rule subject: found", and what the rule `beside` finds. Nothing of it stays. */
    readonly finds: (damage: Planted["damage"], found: Planted["found"], beside?: string) => Effect.Effect<void>
  }
>()("test/DamagedLedger") {
  static readonly layer = Layer.effect(
    DamagedLedger,
    Effect.gen(function* () {
      const played = yield* Effect.scoped(story)
      const context = yield* Layer.build(
        Layer.fresh(PgClient.layer({ url: played.database, ...planning })).pipe(Layer.provide(Reactivity.layer))
      )
      const sql = Context.get(context, SqlClient.SqlClient)
      const by = (...statements: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          for (const statement of statements) yield* sql.unsafe(statement)
          const found: Array<string> = []
          for (const one of ledgerRules)
            for (const row of yield* sql.unsafe<{ subject: string; found: string }>(breachesStatement(one, 10)))
              found.push(`${one.rule} ${row.subject}: ${row.found}`)
          expect((yield* inSlices(sql)).sort()).toEqual(found.filter((one) => ofSlices.has(one.split(" ")[0] ?? "")).sort())
          expect((yield* inChanges(sql)).sort()).toEqual(found.filter((one) => !one.startsWith(ofPositions)).sort())
          const ofStretches = ledgerRules.filter(isAskedOfStretches).map(({ rule }) => rule)
          expect((yield* inStretches(sql)).sort()).toEqual(
            found.filter((one) => ofStretches.includes(one.split(" ")[0] ?? "")).sort()
          )
          const small: Array<string> = []
          for (const one of ledgerRules)
            for (const row of yield* sql.unsafe<Breach>(askedBySmall(one, 10)))
              small.push(`${one.rule} ${row.subject}: ${row.found}`)
          expect(small.sort()).toEqual(found.sort())
          return yield* Effect.fail(found.sort())
        }).pipe(
          (effect) => sql.withTransaction(effect),
          Effect.flip,
          Effect.flatMap((found) => (Array.isArray(found) ? Effect.succeed(found) : Effect.die(found)))
        )
      const finds = Effect.fnUntraced(function* (damage: Planted["damage"], found: Planted["found"], beside?: string) {
        const all = yield* by(...damage(played.given))
        const differences = all.filter((one) => beside === undefined || !one.startsWith(`${beside} `))
        const expected = found(played.given)
        expect(differences).toEqual(expect.arrayContaining([...expected]))
        expect(differences, differences.join("\n")).toHaveLength(expected.length)
      })
      return { finds }
    })
  )
}

/** Each damage asks the same hundreds of statements, which take longer to plan than to run: they are planned once. */
const planning = { preparedStatementCacheSize: 2_000, startupParameters: { plan_cache_mode: "force_generic_plan" } }

const slicing = slicingOn({ isDistributed: false })
const slicedRules = ledgerRules.filter(slicing.has)
const namesRule = ledgerRules.filter(({ rule }) => rule === "provider_references_were_written")
const ofSlices = new Set([...slicedRules, ...namesRule].map(({ rule }) => rule))
/** Its sums are kept by verifications of their own (`LedgerChanges.test.ts`). */
const ofPositions = "positions_are_the_fold "

interface Breach {
  readonly subject: string
  readonly found: string
}

/** What the rules that go in slices find, asked of two references, or two names, at a time. Two slices may find one difference. */
const inSlices = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const { namesAfter, referencesAfter, tenantAfter, unwrittenAfter } = ledgerSlices(sql)
  const found = new Set<string>()
  const look = Effect.fnUntraced(function* (slice: Slice) {
    for (const one of slicedRules)
      for (const row of yield* sql.unsafe<Breach>(slicing.breaches(one, 10), slicing.values(slice)))
        found.add(`${one.rule} ${row.subject}: ${row.found}`)
  })
  for (let appId = yield* tenantAfter(null); appId !== null; appId = yield* tenantAfter(appId)) {
    let references = yield* referencesAfter(appId, null, 2)
    while (references.length > 0) {
      for (const slice of slicing.of(references.map((reference) => ({ appId: appId ?? "", reference })))) yield* look(slice)
      references = yield* referencesAfter(appId, references.at(-1) ?? null, 2)
    }
  }
  let reached: string | null = null
  do {
    const next: Effect.Success<ReturnType<typeof unwrittenAfter>> = yield* unwrittenAfter(reached, 2)
    for (const slice of slicing.of(next.found)) yield* look(slice)
    reached = next.reached
  } while (reached !== null)
  let last: ReadonlyArray<string> | null = null
  do {
    const page: Effect.Success<ReturnType<typeof namesAfter>> = yield* namesAfter(last, 2)
    for (const one of namesRule)
      for (const row of yield* sql.unsafe<Breach>(page.breaches(one, 10), page.values))
        found.add(`${one.rule} ${row.subject}: ${row.found}`)
    last = page.last
  } while (last !== null)
  return [...found]
})

const HOUR_MS = 3_600_000

/** What the rules find that are asked of changes: those of the last hour, three references at a time, and what they are asked once. */
const inChanges = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const found = new Set<string>()
  const ask = Effect.fnUntraced(function* (rule: string, statement: string, values: ReadonlyArray<unknown>) {
    const rows = yield* sql.unsafe<Breach>(statement, values)
    return rows.map((row) => `${rule} ${row.subject}: ${row.found}`)
  })
  for (const one of ledgerRules.filter(isAskedOnce))
    for (const difference of yield* ask(one.rule, askedBySmall(one, 10), [])) found.add(difference)
  const from = (yield* Clock.currentTimeMillis) - HOUR_MS
  const all = yield* changedIn(sql, from, null)
  for (let at = 0; at < all.length; at += 3) {
    const part = all.slice(at, at + 3)
    const changes = { appIds: part.map(({ appId }) => appId), references: part.map(({ reference }) => reference), from, to: null }
    for (const one of ledgerRules.filter(isAskedOfChanges)) {
      const statement = askedOfChanges(one, 10)
      const again = askedAgain(one, 10)
      const first = yield* ask(one.rule, statement, valuesOf(changes, statement))
      const differences = again === null ? first : yield* ask(one.rule, again, valuesOf(changes, again))
      for (const difference of differences) found.add(difference)
    }
  }
  return [...found]
})

/** The same of the rules that walk through all stretches: the first before everything, two that meet in the middle of it, and the open end. */
const inStretches = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const found = new Set<string>()
  const lines = yield* sql<{ at: Date }>`SELECT at FROM journal ORDER BY at`
  const middle = lines[Math.floor(lines.length / 2)]?.at.getTime() ?? 0
  const first = middle - 24 * HOUR_MS
  for (const [from, to] of [
    [null, first],
    [first, middle],
    [middle, null]
  ] as const) {
    const all = yield* changedIn(sql, from, to)
    for (let at = 0; at < all.length || at === 0; at += 3) {
      const part = all.slice(at, at + 3)
      const changes = { appIds: part.map(({ appId }) => appId), references: part.map(({ reference }) => reference), from, to }
      for (const one of ledgerRules.filter(isAskedOfStretches)) {
        const [statement, again] = [askedOfStretch(one, 10), askedAgain(one, 10)]
        const isFirstEnough = again === null || (yield* sql.unsafe<Breach>(statement, valuesOf(changes, statement))).length === 0
        const last = isFirstEnough ? statement : (again ?? statement)
        for (const row of yield* sql.unsafe<Breach>(last, valuesOf(changes, last)))
          found.add(`${one.rule} ${row.subject}: ${row.found}`)
      }
    }
  }
  return [...found]
})

const story = Effect.gen(function* () {
  const { database, gateway } = yield* givenStack()
  const tenant = yield* tenantOn(gateway)
  yield* webhooksOf(gateway, tenant)
  const sent = (target: string, body: unknown, key: string) => Effect.map(tenant.post(target, body, key), referenceOf)
  const ended = (target: string, status: string) =>
    tenant.until(`/v1/transactions/${target}`, (record) => record["status"] === status)
  const paid = yield* sent("/v1/payouts", momoPayout("1234"), "paid")
  const failed = yield* sent("/v1/payouts", momoPayout("0001"), "failed")
  const open = yield* sent("/v1/payouts", momoPayout("0010"), "open")
  const collected = yield* sent("/v1/collections", momoCharge("1234"), "collected")
  const waiting = yield* sent("/v1/collections", inRwanda, "waiting")
  const exchange = (key: string) =>
    tenant
      .post("/v1/fx/quote", { source_currency: "UGX", destination_currency: "KES", source_amount_minor: 5_000 })
      .pipe(Effect.flatMap(({ body }) => sent("/v1/fx/exchange", { quote_id: body.data["quote_id"] }, key)))
  const exchanged = yield* exchange("exchanged")
  const again = yield* exchange("again")
  yield* tenant.post("/v1/payouts", momoPayout("1234", { amount_minor: 5_000_000 }), "refused")
  yield* ended(paid, "successful")
  yield* ended(collected, "successful")
  const report = yield* verified(gateway)
  if (!report.ok) return yield* Effect.die(new Error(JSON.stringify(report.differences)))
  return { database, given: { appId: tenant.appId, of: { paid, failed, open, collected, waiting, exchanged, again } } }
})

/** It stays pending, in a currency that nothing else has moved. */
const inRwanda = {
  ...momoCharge("0010"),
  currency: "RWF",
  country: "RW",
  source: { type: "momo", msisdn: "250783340010", network: "MTN" }
}
