import { createHash } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Pool } from "pg"
import { askedIn, newReference, recordOf } from "./Payout.ts"
import { openProvider } from "./Provider.ts"
import { schema } from "./Schema.ts"
import { signedBy, type Tenant } from "./Signature.ts"

// A process of its own: what people would write by hand for the same safe job. A checked signature, a nonce that counts once, an
// idempotency key with its stored answer, the float and the intent committed before the provider is called, and its answer after it.
// No framework, statements prepared by name, connections kept, the float's row locked last and thus briefly.

const POOL = 16
const NONCE_SECONDS = 180

const pool = new Pool({ connectionString: process.env["DATABASE_URL"] ?? "", max: POOL }).on("error", () => {})
const provider = openProvider(process.env["PROVIDER_URL"] ?? "")
const known: ReadonlyArray<Tenant> = JSON.parse(process.env["TENANTS"] ?? "[]")
const tenants = new Map(known.map((tenant) => [`${tenant.app_id}.${tenant.key_id}`, tenant]))

const sql = {
  nonce: `INSERT INTO nonces VALUES ($1, $2, $3, now() + interval '${NONCE_SECONDS} seconds') ON CONFLICT DO NOTHING`,
  claim: "INSERT INTO idempotency_keys (app_id, key, fingerprint) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
  held: "SELECT fingerprint, answer_status, answer_body FROM idempotency_keys WHERE app_id = $1 AND key = $2",
  insert: "INSERT INTO transactions VALUES ($1, $2, 'pending', NULL, $3, $4, $4)",
  post: `INSERT INTO postings VALUES ($1, $2, 'reserve', 'available', $3, -$4::bigint), ($1, $2, 'reserve', 'reserved', $3, $4::bigint)`,
  note: "INSERT INTO history (app_id, reference, at, fact, status) VALUES ($1, $2, $3, $4, 'pending')",
  event: "INSERT INTO events VALUES ($1, $2, 'payout.pending', $3, $4, $5)",
  pin: "UPDATE idempotency_keys SET reference = $3 WHERE app_id = $1 AND key = $2",
  reserve: `UPDATE floats SET available_minor = available_minor - $3, reserved_minor = reserved_minor + $3
    WHERE app_id = $1 AND currency = $2 AND available_minor >= $3`,
  accept: "UPDATE transactions SET provider_reference = $3, record = $4, updated_at = $5 WHERE app_id = $1 AND reference = $2",
  answer: "UPDATE idempotency_keys SET answer_status = $3, answer_body = $4 WHERE app_id = $1 AND key = $2",
  release: "DELETE FROM idempotency_keys WHERE app_id = $1 AND key = $2",
  find: "SELECT record FROM transactions WHERE app_id = $1 AND reference = $2"
} as const

type Statement = keyof typeof sql
type Run = (name: Statement, ...values: ReadonlyArray<unknown>) => Promise<{ rowCount: number | null; rows: ReadonlyArray<Row> }>
type Row = Readonly<Record<string, unknown>>

const run: Run = (name, ...values) => pool.query({ name, text: sql[name], values })

const together = async <A>(work: (run: Run) => Promise<A>): Promise<A> => {
  const client = await pool.connect()
  try {
    await client.query("BEGIN")
    const result = await work((name, ...values) => client.query({ name, text: sql[name], values }))
    await client.query("COMMIT")
    client.release()
    return result
  } catch (cause) {
    await client.query("ROLLBACK").catch(() => {})
    client.release(true)
    throw cause
  }
}

interface Answer {
  readonly status: number
  readonly body: string
}

const success = (status: number, data: unknown): Answer => ({
  status,
  body: JSON.stringify({ code: status, message: "ok", data })
})

const refusal = (status: number, code: string): Answer => ({
  status,
  body: JSON.stringify({
    code: status,
    message: code,
    error: { code, message: code, terminal: true, retriable: false, ambiguous: false }
  })
})

const ShortFloat = new Error("the float is too small")

const payout = async ({ app_id }: Tenant, key: string, body: Buffer): Promise<Answer> => {
  const asked = askedIn(body)
  if (typeof asked === "string") return refusal(422, "validation_failed")
  const fingerprint = createHash("sha256").update(body).digest("hex")
  const claimed = await run("claim", app_id, key, fingerprint)
  if (claimed.rowCount !== 1) return again(app_id, key, fingerprint)
  const { country, currency, msisdn } = asked
  const { fee, token } = await provider.quote(asked.amount, currency, country)
  const reference = newReference()
  const at = new Date().toISOString()
  const record = recordOf(asked, reference, fee, at)
  const total = asked.amount + BigInt(fee)
  try {
    await together(async (run) => {
      await run("insert", app_id, reference, JSON.stringify(record), at)
      await run("post", app_id, reference, currency, total)
      await run("note", app_id, reference, at, "Opened")
      const id = newReference()
      const event = { id, type: "payout.pending", api_version: "v1", timestamp: at, app_id, is_test_mode: false, data: record }
      await run("event", app_id, id, reference, JSON.stringify(event), at)
      await run("pin", app_id, key, reference)
      const reserved = await run("reserve", app_id, currency, total)
      if (reserved.rowCount !== 1) throw ShortFloat
    })
  } catch (cause) {
    if (cause !== ShortFloat) throw cause
    await run("release", app_id, key)
    return refusal(422, "insufficient_tenant_float")
  }
  const providerReference = await provider.send(token, reference, country, msisdn)
  const acceptedAt = new Date().toISOString()
  const accepted = { ...record, version: 2, updated_at: acceptedAt }
  const answer = success(201, accepted)
  await together(async (run) => {
    await run("accept", app_id, reference, providerReference, JSON.stringify(accepted), acceptedAt)
    await run("note", app_id, reference, acceptedAt, "Accepted")
    await run("answer", app_id, key, answer.status, answer.body)
  })
  return answer
}

const again = async (appId: string, key: string, fingerprint: string): Promise<Answer> => {
  const [row] = (await run("held", appId, key)).rows
  if (row === undefined || row["answer_status"] === null) return refusal(409, "request_in_progress")
  if (row["fingerprint"] !== fingerprint) return refusal(422, "idempotency_key_reused")
  return { status: Number(row["answer_status"]), body: String(row["answer_body"]) }
}

const find = async ({ app_id }: Tenant, reference: string): Promise<Answer> => {
  const [row] = (await run("find", app_id, reference)).rows
  return row === undefined ? refusal(404, "not_found") : success(200, row["record"])
}

const answered = async (request: IncomingMessage): Promise<Answer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const signed = signedBy(request, body, tenants)
  if (signed === undefined) return refusal(401, "unauthorized")
  const { nonce, tenant } = signed
  const spent = await run("nonce", tenant.app_id, tenant.key_id, nonce)
  if (spent.rowCount !== 1) return refusal(401, "unauthorized")
  const { method, url = "" } = request
  const key = request.headers["idempotency-key"]
  if (method === "POST" && url === "/v1/payouts")
    return typeof key === "string" ? payout(tenant, key, body) : refusal(400, "idempotency_key_required")
  if (method === "GET" && url.startsWith("/v1/payouts/")) return find(tenant, url.slice("/v1/payouts/".length))
  return refusal(404, "not_found")
}

const write = (response: ServerResponse, { body, status }: Answer): void => {
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
  response.end(body)
}

const server = createServer((request, response) => {
  const startedAt = Date.now()
  answered(request)
    .catch((cause: unknown) => {
      process.stderr.write(`${String(cause)}\n`)
      return refusal(500, "internal_error")
    })
    .then((answer) => {
      write(response, answer)
      const line = {
        time: startedAt,
        method: request.method,
        url: request.url,
        status: answer.status,
        ms: Date.now() - startedAt
      }
      process.stdout.write(`${JSON.stringify(line)}\n`)
    })
})

await pool.query(schema)
for (const { app_id } of known) await pool.query("INSERT INTO floats VALUES ($1, 'UGX', 1000000000000000, 0)", [app_id])
server.listen(0, "127.0.0.1", () => process.send?.(server.address()))
process.on("disconnect", () => process.exit())
