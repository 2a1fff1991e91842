import { Clock, Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { AppId, Mode } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { SoughtRecords, StoredTransaction, Transactions } from "../../services/ports/Transactions.ts"
import { type makeHeavyReads, OPERATORS } from "../connection/HeavyReads.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { placesOfKey, placesOfValue } from "./OwnIds.ts"
import { hashColumns, heldAgainst, PAYMENTS } from "./TransactionList.ts"

/** How many tenants one statement searches. */
const TENANTS_A_STEP = 500
/** No further step begins later than this, after a few thousand tenants. */
const LOOK_FOR_MS = 3_000
/** How many of each tenant's newest records are read to collect the names in its metadata. */
const RECORDS_OF_NAMES = 20

const names = rowsOf(Schema.Struct({ appId: AppId }))
const decodeCreated = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ created_at: Moment })))

/**
 * An operator's search over all tenants for what a customer says. Every usable index begins with the tenant, so each tenant is
 * searched for its newest matches, by all terms together; `isWhole` says whether there was time for all tenants. `readable` as
 * in TransactionSearch.
 */
export const soughtEverywhere = (
  sql: SqlClient.SqlClient,
  heavy: ReturnType<typeof makeHeavyReads>,
  readable: (rows: ReadonlyArray<object>) => Effect.Effect<ReadonlyArray<StoredTransaction>>
): Transactions["Service"]["soughtEverywhere"] => {
  const tenantsAfter = (after: string) =>
    names(sql`SELECT app_id AS "appId" FROM tenants WHERE app_id > ${after} ORDER BY app_id LIMIT ${TENANTS_A_STEP}`)

  const own = sql.literal("app_id = n.app_id AND mode = n.mode AND created_at > '-infinity'")
  const ofMember = (key: string, value: string) =>
    sql`metadata_members, (SELECT metadata_member(${key}, ${value}) AS sought) s WHERE member = s.sought AND ${own}`
  /** The rows of one tenant and mode that lead to its records. */
  const placesOf = (sought: SoughtRecords, end: string, limit: number): ReadonlyArray<Statement.Fragment> => {
    switch (sought._tag) {
      case "party":
      case "account":
        return sought.hashes.map((hash) => sql`transactions WHERE ${sql(hashColumns[sought._tag])} = ${hash} AND ${own}`)
      case "receipt":
        return [ofMember("", `receipt ${sought.identity}`)]
      case "metadata":
        return sought.members.slice(0, 1).map(({ key, value }) => ofMember(key, value))
      case "value": {
        const within = sql`${own} AND created_at < ${end}::timestamptz`
        return [sql`${placesOfValue(sql, sought.value, { owner: own, records: RECORDS_OF_NAMES, within, limit })} WHERE true`]
      }
      case "key": {
        const owner = { appId: sql.literal("n.app_id"), mode: sql.literal("n.mode"), endpoints: PAYMENTS.endpoints }
        return [sql`${placesOfKey(sql, sought.key, owner)} WHERE ${own}`]
      }
    }
  }

  const found = Effect.fnUntraced(function* (
    ...[terms, { before, limit, mode }]: Parameters<Transactions["Service"]["soughtEverywhere"]>
  ) {
    const modes = mode === null ? Mode.literals : [mode]
    const end = before === null ? "infinity" : iso(before)
    const began = yield* Clock.currentTimeMillis
    const items: Array<Transaction> = []
    let olderThan: number | null = null
    const take = Effect.fnUntraced(function* (appIds: ReadonlyArray<string>, sought: SoughtRecords, places: Statement.Fragment) {
      const rows = yield* sql<object>`
        SELECT reference, record, revision, created_at FROM (
          SELECT t.* FROM (SELECT a.app_id, m.mode FROM unnest(${appIds}::text[]) AS a(app_id), unnest(${modes}::text[]) AS m(mode)) n
          CROSS JOIN LATERAL (
            SELECT created_at, reference FROM ${places} AND created_at < ${end}::timestamptz ORDER BY created_at DESC, reference DESC LIMIT ${limit + 1}
          ) f
          CROSS JOIN LATERAL (
            SELECT * FROM transactions WHERE app_id = n.app_id AND reference = f.reference AND mode = n.mode LIMIT 1
          ) t
        ) t WHERE true ${heldAgainst(sql, sought).reduce((all, one) => sql`${all} ${one}`, sql``)}
        ORDER BY created_at DESC, reference DESC LIMIT ${limit + 1}`
      const page = rows.slice(0, limit)
      items.push(...(yield* readable(page)).map(({ transaction }) => transaction))
      const [last] = yield* decodeCreated(rows.length > limit ? page.slice(-1) : [])
      // Others may have the same millisecond: a search for older records finds the last one again.
      if (last !== undefined) olderThan = Math.max(olderThan ?? 0, last.created_at + 1)
    })

    /** Whether there was time for every tenant. */
    const look = Effect.fnUntraced(function* (sought: ReadonlyArray<SoughtRecords>) {
      for (let after = ""; ; ) {
        const step = yield* tenantsAfter(after)
        const appIds = step.map(({ appId }) => appId)
        for (const one of sought) for (const places of placesOf(one, end, limit + 1)) yield* take(appIds, one, places)
        const isLast = step.length < TENANTS_A_STEP
        if (isLast || (yield* Clock.currentTimeMillis) - began > LOOK_FOR_MS) return isLast
        after = appIds.at(-1) ?? ""
      }
    })

    let isWhole = true
    // First the terms with an index, then the slowest one.
    for (const isValue of [false, true]) {
      const sought = terms.filter(({ _tag }) => (_tag === "value") === isValue)
      if (items.length === 0 && sought.length > 0) isWhole = (yield* look(sought)) && isWhole
    }
    return { items, olderThan, isWhole }
  })

  return Effect.fn("Transactions.soughtEverywhere")((terms, page) =>
    heavy(OPERATORS)(found(terms, page)).pipe(Effect.catchTags({ SqlError: Effect.die, SchemaError: Effect.die }))
  )
}
