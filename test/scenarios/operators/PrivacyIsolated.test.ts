import { createServer } from "node:http"
import { PgClient } from "@effect/sql-pg"
import { it } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { expect, vi } from "vitest"
import { AuditLog } from "../../../src/services/ports/AuditLog.ts"
import { gateway as command } from "../../commands/Gateway.ts"
import { freePort } from "../../support/FreePort.ts"
import { demandCodes } from "../../support/OtpRequests.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf } from "../../support/SignedClient.ts"
import { type Gateway, givenStack, keyOn, tenantOn, webhooksOf } from "../../support/Stack.ts"
import { masterKey } from "../../support/TestDatabase.ts"

/** What must be nowhere. Numbers are looked for without their country's prefix, because that can be written in many ways. */
const canary = {
  payer: "256772918273",
  coded: "256772465768",
  recipient: "256774564738",
  account: "90307788123454",
  failing: "256779190001",
  accountName: "Zebulon Quartermain",
  payerName: "Ottoline",
  email: "ottoline@canary.example",
  externalId: "crm-canary-5521",
  tag: "zebulonthegreat",
  pin: "741963",
  wrongPin: "852074"
}

const needles = (secrets: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...Object.values(canary).map((value) => (/^256\d{9}$/.test(value) ? value.slice(3) : value)),
  "Quartermain",
  ...secrets
]

/** Which canaries a text holds, as they are or as the hexadecimal digits or base64 of their bytes. */
const found = (text: string, secrets: ReadonlyArray<string>): ReadonlyArray<string> => {
  const lower = text.toLowerCase()
  return needles(secrets).filter((needle) => {
    const [hex, base64] = [Buffer.from(needle).toString("hex"), Buffer.from(needle).toString("base64").replace(/=+$/, "")]
    // Six digits stand in a hash now and then.
    const isThere = /^\d{6}$/.test(needle)
      ? new RegExp(`(?<![0-9a-f])${needle}(?![0-9a-f])`).test(lower)
      : lower.includes(needle.toLowerCase())
    return isThere || lower.includes(hex) || text.includes(base64)
  })
}

/** An OTLP collector that keeps the bytes. */
const collector = Effect.acquireRelease(
  Effect.promise(async () => {
    const chunks: Array<Buffer> = []
    const server = createServer(async (request, response) => {
      for await (const chunk of request) chunks.push(Buffer.from(chunk))
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end()
    })
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
    const address = server.address()
    return { endpoint: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`, chunks, server }
  }),
  ({ server }) =>
    Effect.promise(() => new Promise<void>((closed) => void (server.close(() => closed()), server.closeAllConnections())))
)

/** Every row of every table, as text. */
const dumped = (database: Redacted.Redacted) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.makeClient({ url: database })
    const tables = yield* sql<{ name: string }>`
      SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY 1`
    return yield* Effect.forEach(tables, ({ name }) =>
      Effect.map(sql.unsafe<{ row: string }>(`SELECT row_to_json(t)::text AS row FROM "${name}" t`), (rows) => ({
        name,
        text: rows.map(({ row }) => row).join("\n")
      }))
    )
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))

/** What a process says that cannot start: one setting is wrong, and then its port is taken. */
const crashed = (database: Redacted.Redacted, port: string) =>
  Effect.gen(function* () {
    const secret = { MASTER_KEY: Redacted.value(masterKey), LOG_LEVEL: "trace" }
    const wrong = yield* command(
      {
        ...secret,
        EVERSEND_LIVE_CLIENT_SECRET: "simulator-secret",
        DATABASE_URL: `postgres://u:${canary.pin}@127.0.0.1:none/x`,
        PORT: "none"
      },
      "serve"
    )
    const taken = yield* command({ ...secret, DATABASE_URL: Redacted.value(database), PORT: port, MANAGEMENT_PORT: "0" }, "serve")
    expect([wrong.code, taken.code]).toEqual([1, 1])
    expect(taken.errors).toContain("cannot listen on")
    return [wrong, taken].map(({ errors, output }) => `${output}\n${errors}`).join("\n")
  })

/** A step that breaks where its money is written. */
const broken = (gateway: Gateway, database: Redacted.Redacted) =>
  Effect.gen(function* () {
    const tenant = yield* tenantOn(gateway)
    const sql = yield* PgClient.makeClient({ url: database })
    yield* sql`ALTER TABLE journal RENAME TO journal_gone`
    const answer = yield* tenant.post("/v1/payouts", momoPayout("", { destination: momo(canary.recipient) }))
    expect(answer.status).toBe(500)
    return answer.text
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))

const momo = (msisdn: string) => ({ type: "momo", msisdn, network: "MTN", country: "UG" })
const payer = { first_name: canary.payerName, last_name: "Quartermain", email: canary.email, external_id: canary.externalId }

/** Every endpoint that a person or a secret can be told to, with canaries, well and badly. */
const everything = Effect.fnUntraced(function* (gateway: Gateway) {
  const tenant = yield* tenantOn(gateway, 200_000n)
  const hook = yield* webhooksOf(gateway, tenant)
  const own = yield* tenant.call("POST", "/v1/webhooks/endpoint/rotate-secret", {})
  const admin = yield* keyOn(gateway, tenant.appId, "live", { role: "admin" })
  const answers: Array<string> = []
  const kept = <A extends { readonly text: string }>(asking: Effect.Effect<A>) =>
    Effect.tap(asking, ({ text }) => Effect.sync(() => void answers.push(text)))
  const get = (target: string) => kept(tenant.get(target))
  const post = (target: string, body: unknown) => kept(tenant.post(target, body))
  const bank = {
    type: "bank",
    country: "UG",
    bank_code: "01",
    account_number: canary.account,
    account_name: canary.accountName,
    msisdn: canary.recipient
  }
  const payouts = [
    momoPayout("", { destination: momo(canary.recipient) }),
    momoPayout("", { destination: momo(canary.failing) }),
    momoPayout("", { method: "bank", destination: bank }),
    momoPayout("", { method: "wallet", destination: { type: "wallet", country: "UG", tag: canary.tag } }),
    momoPayout("", { method: "wallet", destination: { type: "wallet", country: "UG", email: canary.email } })
  ]
  const references: Array<string> = []
  for (const body of payouts) {
    yield* post("/v1/payouts/quote", body)
    references.push(referenceOf(yield* post("/v1/payouts", body)))
  }
  references.push(referenceOf(yield* post("/v1/collections", momoCharge("", { source: momo(canary.payer), payer }))))
  const broken = { source: momo(`${canary.payer}99999`), payer: { ...payer, email: [canary.email] }, otp: { pin: canary.pin } }
  yield* post("/v1/collections", momoCharge("", broken))
  yield* post("/v1/payouts", momoPayout("", { destination: { ...bank, type: canary.accountName } }))
  yield* post("/v1/collections/otp", { country: "UG", source: momo(canary.payer) })
  yield* demandCodes(gateway, "UG")
  const waiting = yield* post("/v1/collections", momoCharge("", { source: momo(canary.coded), payer }))
  expect(waiting.body.data["status"]).toBe("requires_action")
  const pin_id = Object(waiting.body.data["next_action"]).pin_id
  const otp = (pin: string) => ({ type: "otp", otp: { pin_id, pin } })
  for (const pin of [canary.wrongPin, canary.pin])
    for (const target of [referenceOf(waiting), "00000000000000000000000001"])
      yield* post(`/v1/collections/${target}/authorize`, { authorization: otp(pin), source: momo(canary.coded) })
  yield* post("/v1/reference/resolve-bank-account", { country: "UG", bank_code: "01", account_number: canary.account })
  for (const term of [{ msisdn: canary.payer }, { msisdn: `${canary.recipient}9999` }, { account_number: canary.account }])
    yield* post("/v1/transactions/search", term)
  yield* get(`/v1/payouts/${canary.recipient}`)
  yield* get(`/v1/transactions/x?view=${canary.pin}`)
  yield* get("/v1/beneficiaries")
  yield* Effect.promise(() =>
    fetch(`${gateway.url}/webhooks/eversend/${canary.pin}`, { method: "POST", body: JSON.stringify({ phone: canary.payer }) })
  )
  const settled = references.filter((reference) => reference !== "")
  const raws = yield* Effect.forEach(settled, (reference) =>
    eventually(get(`/v1/transactions/${reference}`), ({ body }) => body.data["status"] !== "pending").pipe(
      Effect.andThen(
        admin.call("GET", `/v1/transactions/${reference}?view=raw`, undefined, {
          "x-audit-reason": `they called from ${canary.payer}`
        })
      )
    )
  )
  yield* hook.count(settled.length)
  const secrets = [tenant.key, admin.key].flatMap(({ apiKey, secret }) => [apiKey, secret])
  const webhookSecrets = [hook.secret, String((own.body.data ?? {})["secret"] ?? hook.secret)]
  return {
    answers,
    texts: [...raws.map(({ text }) => text), ...hook.received.map(({ body }) => body)],
    settled,
    secrets: [...secrets, ...webhookSecrets.flatMap((secret) => [secret, secret.replace("whsec_", "")])]
  }
})

it.live(
  "no number, name, pin or secret is in any table, log, span, metric, response, event or raw view, nor in the output of a crashing process",
  () =>
    Effect.gen(function* () {
      const { chunks, endpoint } = yield* collector
      const lines: Array<string> = []
      const spy = vi.spyOn(console, "error").mockImplementation((...parts) => void lines.push(parts.join(" ")))
      yield* Effect.addFinalizer(() => Effect.sync(() => spy.mockRestore()))
      const story = Effect.gen(function* () {
        const managementPort = String(yield* freePort)
        const overrides = { LOG_LEVEL: "trace", OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, MANAGEMENT_PORT: managementPort }
        const { database, gateway } = yield* givenStack(overrides)
        const seen = yield* everything(gateway)
        const tables = yield* dumped(database)
        expect((yield* Context.get(gateway.context, AuditLog).verify(null)).brokenAt).toBeNull()
        const crash = `${yield* crashed(database, new URL(gateway.url).port)}\n${yield* broken(gateway, database)}`
        const metrics = yield* Effect.promise(() =>
          fetch(`http://127.0.0.1:${managementPort}/metrics`).then((page) => page.text())
        )
        return { ...seen, tables, crash, metrics }
      })
      // The exporter sends its last spans when the gateway stops.
      const { answers, crash, metrics, secrets, settled, tables, texts } = yield* Effect.scoped(story)
      // Every token of the simulated provider begins so.
      const tokens = Buffer.from('{"alg":"HS256"').toString("base64url")
      const master = Redacted.value(masterKey)
      const sealed = [master, Buffer.from(master, "base64").toString("hex"), tokens]
      const hidden = [...secrets, "simulator-secret", "webhook-secret", ...sealed]
      const spans = Buffer.concat(chunks).toString("latin1")

      expect(found(`x${canary.payer} ${canary.pin}, ${Buffer.from("Quartermain").toString("hex")}`, [])).toHaveLength(3)
      expect(settled.length).toBe(6)
      expect(tables.find(({ name }) => name === "transactions")?.text).toContain("••••8273")
      expect(tables.find(({ name }) => name === "charge_codes")?.text).not.toBe("")
      expect(tables.find(({ name }) => name === "audit_log")?.text).toContain("they called from ••••8273")
      expect(spans).toContain("eversend.send")
      expect(spans).toContain("gateway_transactions_open")
      expect(lines.join("\n")).toContain("applied a fact")
      // With what a person goes on from: the request's id, which the client has, too, and the reference.
      expect(lines.find((line) => line.includes("a money step broke"))).toMatch(/"request_id":"\w{26}","reference":"\w{26}"/)
      expect(metrics).toContain("gateway_provider_calls_total")
      expect(answers.length).toBeGreaterThan(20)
      expect(texts.length).toBeGreaterThanOrEqual(2 * settled.length)

      const places = [
        ...tables,
        { name: "logs", text: lines.join("\n") },
        { name: "spans and exported metrics", text: spans },
        { name: "metrics", text: metrics },
        { name: "answers", text: answers.join("\n") },
        { name: "a broken process", text: crash },
        { name: "events and raw views", text: texts.join("\n") }
      ]
      const leaks = places.flatMap(({ name, text }) => found(text, hidden).map((needle) => `${name}: ${needle}`))
      expect(leaks).toEqual([])
    }).pipe(Effect.scoped)
)
