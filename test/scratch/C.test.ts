import { it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Database } from "../../src/persistence/Database.ts"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { givenStack, tenantOn, verified, webhooksOf } from "../support/Stack.ts"

const show = (what: string, value: unknown) => process.stdout.write(`${what} ${JSON.stringify(value, (_, v) => typeof v === "bigint" ? v.toString() : v)?.slice(0, 900)}\n`)
const momo = (msisdn: string) => ({ type: "momo", msisdn, network: "MTN", country: "UG" })

describe("over HTTP", () => {
  it.live("T14 timeouts, T10 overflow, privacy", () => Effect.gen(function* () {
    const lines: Array<string> = []
    const was = console.error
    console.error = (...parts: Array<unknown>) => { lines.push(parts.map(String).join(" ")) }
    const { gateway, simulator, database } = yield* givenStack({ LOG_LEVEL: "trace" })
    const tenant = yield* tenantOn(gateway, 9_007_199_254_740_991n)
    yield* webhooksOf(gateway, tenant)
    const started = Date.now()
    const silent = yield* tenant.post("/v1/payouts", { amount_minor: 10_000, currency: "UGX", country: "UG", method: "momo", destination: momo("256772120003") }, "silent")
    show("T14", [Date.now() - started, silent.status, silent.text])
    const big = yield* tenant.post("/v1/payouts", { amount_minor: 9007199254740991, currency: "UGX", country: "UG", method: "momo", destination: momo("256772345678") }, "big")
    show("T10", [big.status, big.text])
    const big2 = yield* tenant.post("/v1/payouts", { amount_minor: 9007199254740500, currency: "UGX", country: "UG", method: "momo", destination: momo("256772345678") }, "big2")
    show("T10b", [big2.status, big2.text])
    const quote = yield* tenant.call("POST", "/v1/payouts/quote", { amount_minor: 9007199254740500, currency: "UGX", country: "UG", method: "momo", destination: momo("256772345678") })
    show("T10c", [quote.status, quote.text])
    const many = ["3456", "0001", "0002", "0003", "0005", "0006", "0007", "0008", "0009", "0011", "0012", "0013", "0014", "0015", "0016", "0017"]
    for (const end of many) {
      const p = yield* tenant.post("/v1/payouts", { amount_minor: 10_000, currency: "UGX", country: "UG", method: "momo", destination: momo(`25677277${end}`) })
      const c = yield* tenant.post("/v1/collections", { amount_minor: 10_000, currency: "UGX", country: "UG", method: "momo", source: momo(`25677399${end}`), payer: { first_name: "Zebulon", last_name: "Quixote", email: "zeb@secret.example", phone: "+256774444444" } })
      show(end, [p.status, p.body.error?.["code"] ?? p.body.data?.["status"], c.status, c.body.error?.["code"] ?? c.body.data?.["status"]])
    }
    const b = yield* tenant.post("/v1/payouts", { amount_minor: 20_000, currency: "UGX", country: "UG", method: "bank", destination: { type: "bank", country: "UG", bank_code: "0000", account_number: "998877665544", account_name: "Ermintrude Featherstone", msisdn: "256775551234" } })
    show("bank", [b.status, b.text])
    const w = yield* tenant.post("/v1/payouts", { amount_minor: 20_000, currency: "UGX", country: "UG", method: "wallet", destination: { type: "wallet", country: "UG", email: "ermin@wallet.example" } })
    show("wallet", [w.status, w.text])
    yield* Effect.sleep(2500)
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tables = yield* sql<{ t: string }>`SELECT table_name t FROM information_schema.tables WHERE table_schema = 'public'`
      const needles = ["25677277", "25677399", "77277", "77399", "Zebulon", "Quixote", "zeb@secret", "256774444444", "998877665544", "Ermintrude", "Featherstone", "256775551234", "ermin@"]
      for (const { t } of tables) {
        const rows = yield* sql.unsafe<{ x: string }>(`SELECT row_to_json(r)::text x FROM "${t}" r`)
        for (const needle of needles) { const hit = rows.find(({ x }) => x.includes(needle)); if (hit) show(`LEAK in ${t}: ${needle}`, hit.x) }
      }
      const log = lines.join("\n")
      for (const needle of needles) if (log.includes(needle)) show(`LEAK in log: ${needle}`, log.slice(Math.max(0, log.indexOf(needle) - 300), log.indexOf(needle) + 60))
      show("log lines", lines.length)
      show("not listed", [...new Set(lines.flatMap((l) => l.match(/"[a-z_.]+":"<not listed>"/g) ?? []))])
      show("open", yield* sql`SELECT kind, status, needs_review, count(*) FROM transactions GROUP BY 1,2,3`)
      show("sealed of closed", yield* sql`SELECT count(*) FROM transactions WHERE status <> 'pending' AND sealed_destination IS NOT NULL`)
    }).pipe(Effect.provide(Database.layer({ url: database })))
    console.error = was
    show("ledger", yield* verified(gateway))
    const doubled = new Map<string, number>()
    for (const e of (yield* Effect.promise(() => (simulator as never as { control: (m: string, p: string) => Promise<unknown> }).control("GET", "/executions"))) as ReadonlyArray<{ client_reference?: string; reference: string }>) {
      const k = e.client_reference ?? e.reference; doubled.set(k, (doubled.get(k) ?? 0) + 1)
    }
    show("executed twice", [...doubled].filter(([, c]) => c > 1))
  }).pipe(Effect.scoped), 120_000)
})
