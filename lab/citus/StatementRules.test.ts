import { loadModule } from "libpg-query"
import { beforeAll, describe, expect, it } from "vitest"
import { offencesIn, type RuleName, type Schema } from "./StatementRules.ts"

const distributed = ["tenants", "transactions", "open_work", "journal", "counters"]
const inFunction: Schema = {
  isDistributed: (table) => distributed.includes(table),
  isDelegated: (name) => name === "open_steps",
  isStable: (name) => name === "convert_to",
  isVariable: ([first = ""]) => first.startsWith("p_")
}
const fromClient: Schema = { ...inFunction, isVariable: () => false }

/** The statements of clients, each with the rule that it breaks. */
const broken: ReadonlyArray<readonly [RuleName, string]> = [
  ["namesItsTenant", "SELECT record FROM transactions WHERE reference = $1"],
  ["namesItsTenant", "SELECT record FROM transactions WHERE app_id > ANY ($1)"],
  ["namesItsTenant", "SELECT record FROM transactions WHERE app_id = $1 OR reference = $2"],
  ["namesItsTenant", "SELECT * FROM transactions t JOIN open_work w ON w.reference = t.reference WHERE t.app_id = $1"],
  ["namesItsTenant", "INSERT INTO open_work (app_id, reference) SELECT app_id, reference FROM transactions WHERE reference = $1"],
  ["namesItsTenant", "SELECT (SELECT count(*) FROM open_work) FROM tenants WHERE app_id = $1"],
  [
    "namesItsTenant",
    "SELECT t.* FROM unnest($1::text[]) AS a(app_id) CROSS JOIN LATERAL (SELECT * FROM tenants WHERE app_id = a.app_id) t"
  ],
  ["namesItsTenant", "WITH RECURSIVE o AS (SELECT app_id FROM open_work UNION ALL SELECT app_id FROM o) SELECT * FROM o"],
  ["locksRowsOfOneTenant", "SELECT reference FROM open_work ORDER BY next_poll_at LIMIT 1 FOR UPDATE SKIP LOCKED"],
  ["locksRowsOfOneTenant", "WITH l AS (SELECT app_id FROM tenants FOR SHARE) SELECT * FROM l"],
  [
    "insertsInNoCte",
    "WITH made AS (INSERT INTO open_work (app_id, reference) VALUES ($1, $2) RETURNING app_id) SELECT * FROM made"
  ],
  [
    "namesColumnsInsideCtes",
    "WITH o(tenant, due) AS (SELECT app_id, next_poll_at FROM open_work WHERE app_id = $1) SELECT o.tenant FROM o"
  ],
  ["setsNoArrayElement", "UPDATE transactions SET reference = ($2::text[])[1] WHERE app_id = $1"],
  ["setsNoArrayElement", "UPDATE transactions SET record = ($2::text[])[1]::json WHERE app_id = $1"],
  [
    "setsNoArrayElement",
    "INSERT INTO counters (app_id, used) VALUES ($1, 1) ON CONFLICT (app_id) DO UPDATE SET used = ($2::int[])[1]"
  ],
  ["setsNoStableFunctionOfAColumn", "UPDATE transactions t SET body = convert_to(t.text, 'UTF8') WHERE app_id = $1"],
  ["selectsColumnsInSubqueries", "SELECT count(*) FROM (SELECT FROM open_work LIMIT 10) w"],
  ["countsDistinctColumns", "SELECT mode FROM transactions GROUP BY mode HAVING count(DISTINCT record->>'account') > 1"],
  ["namesTheSchemaOfTimePartitions", "SELECT child FROM time_partitions"],
  ["callsDelegatedFunctionsAlone", "SELECT ord FROM open_steps(coalesce($1, ''), $2) WHERE ord > 1"],
  ["callsDelegatedFunctionsAlone", "SELECT s.ord FROM (VALUES (1)) v(n), LATERAL open_steps(coalesce($1, ''), v.n) s"],
  ["callsDelegatedFunctionsAlone", "SELECT open_steps(coalesce($1, ''), $2), open_steps(coalesce($1, ''), $3)"],
  ["callsDelegatedFunctionsAlone", "SELECT ord FROM open_steps(coalesce($1, ''), $2) UNION SELECT 1"],
  ["callsDelegatedFunctionsAlone", "SELECT ord FROM open_steps($1, $2)"],
  ["callsDelegatedFunctionsAlone", "SELECT open_steps(p_app => NULL, p_n => $1)"]
]

/** What Citus 13.2 was seen to plan for one node. */
const kept: ReadonlyArray<string> = [
  "SELECT record FROM transactions WHERE app_id = $1 AND reference = $2",
  "SELECT reference FROM open_work WHERE app_id = ANY ($1) ORDER BY next_poll_at LIMIT 5 FOR UPDATE SKIP LOCKED",
  "SELECT record FROM transactions t WHERE (t.app_id, t.reference) = ($1::text, $2)",
  "SELECT * FROM transactions t JOIN open_work w ON w.app_id = t.app_id AND w.reference = t.reference WHERE t.app_id = $1 FOR UPDATE OF w",
  "SELECT * FROM transactions t WHERE app_id = 'acme' AND EXISTS (SELECT FROM open_work w WHERE w.app_id = t.app_id) FOR UPDATE",
  "SELECT reference FROM transactions WHERE (app_id, reference) IN (SELECT app_id, reference FROM open_work WHERE app_id = $1) FOR UPDATE",
  "SELECT * FROM transactions t JOIN (SELECT app_id FROM open_work LIMIT 5) s ON s.app_id = t.app_id WHERE t.app_id = $1 FOR UPDATE OF t",
  "WITH d AS MATERIALIZED (SELECT app_id, reference FROM open_work WHERE app_id = $1 FOR UPDATE) DELETE FROM open_work w USING d WHERE w.app_id = d.app_id",
  "WITH o AS (SELECT app_id AS tenant FROM open_work WHERE app_id = $1) SELECT o.tenant FROM o",
  "INSERT INTO open_work (reference, app_id) SELECT reference, app_id FROM transactions WHERE app_id = $1",
  "INSERT INTO open_work VALUES ($1, $2)",
  "INSERT INTO open_work (app_id, reference) SELECT n, $1 FROM unnest($2::text[]) AS n",
  "UPDATE transactions SET reference = coalesce(($2::text[])[1], '') WHERE app_id = $1",
  "UPDATE transactions SET body = convert_to($2, 'UTF8') WHERE app_id = $1",
  "SELECT count(DISTINCT record->>'account') FROM transactions WHERE app_id = $1",
  "SELECT child FROM gateway.time_partitions",
  "SELECT ord, verdict FROM open_steps(p_app => coalesce($1, ''), p_n => $2) ORDER BY ord",
  "SELECT open_steps('acme', $1)",
  "SELECT provider FROM corridors WHERE active FOR UPDATE"
]

describe("the rules for statements on Citus", () => {
  beforeAll(loadModule)

  it.each(broken)("finds what breaks %s: %s", (rule, text) => {
    const offences = offencesIn({ text, inTransaction: false, inFunction: null }, fromClient)
    expect(offences.map((offence) => offence.rule)).toContain(rule)
  })

  it.each(kept)("finds nothing in %s", (text) => {
    expect(offencesIn({ text, inTransaction: false, inFunction: null }, fromClient)).toStrictEqual([])
  })

  it("finds a delegated call inside BEGIN, and one in a function", () => {
    const text = "SELECT ord FROM open_steps(coalesce($1, ''), $2)"
    expect(offencesIn({ text, inTransaction: true, inFunction: null }, fromClient)).toHaveLength(1)
    expect(offencesIn({ text, inTransaction: false, inFunction: "relay" }, inFunction)).toHaveLength(1)
  })

  it("takes a function's variable for one tenant, and an array's element for none", () => {
    const found = (text: string) =>
      offencesIn({ text, inTransaction: false, inFunction: "f" }, inFunction).map(({ rule }) => rule)
    expect(found("SELECT t.status FROM tenants t WHERE t.app_id = p_app FOR SHARE")).toStrictEqual([])
    expect(found("SELECT t.status FROM tenants t WHERE t.app_id = p_app[n]")).toStrictEqual(["namesItsTenant"])
  })

  it("finds rows that conflict and come from no table of the tenant", () => {
    const of = (from: string) =>
      offencesIn(
        {
          text: `INSERT INTO counters (app_id, used) SELECT p_app, n.used FROM ${from}unnest(p_used) AS n(used) ON CONFLICT DO NOTHING`,
          inTransaction: false,
          inFunction: "f"
        },
        inFunction
      ).map(({ rule }) => rule)
    expect(of("")).toStrictEqual(["selectsConflictingRowsFromTenants"])
    expect(of("tenants t CROSS JOIN ")).toStrictEqual(["namesItsTenant"])
  })
})
