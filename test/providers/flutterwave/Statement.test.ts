import { createServer } from "node:http"
import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { flutterwave } from "../../../src/providers/flutterwave/Adapter.ts"
import { listening } from "../../support/ListeningServer.ts"

const adapterAt = (port: number) => {
  const key = Redacted.make("key")
  const baseUrl = `http://127.0.0.1:${port}/v3`
  return flutterwave(
    { baseUrl, secretKey: key, webhookSecretHash: key, sender: null, emailDomain: "example.com", timeoutMs: 10_000 },
    "live"
  )
}

const charge = (change: object) => ({
  id: 1,
  tx_ref: "a",
  amount: 1000,
  currency: "NGN",
  app_fee: 14,
  amount_settled: 984.95,
  status: "successful",
  created_at: "2026-01-31T23:59:59.000Z",
  ...change
})
const transfer = {
  id: 2,
  reference: "b",
  amount: 20,
  currency: "UGX",
  fee: 500,
  status: "FAILED",
  created_at: "2026-01-31T00:00:00.000Z"
}

it.effect("chargebacks and refunds name the charge, what is asked back, and how far it is", () =>
  Effect.gen(function* () {
    const chargeback = (status: string) => ({
      id: 5,
      amount: 12.5,
      status,
      stage: "first",
      transaction_id: 41,
      tx_ref: null,
      flw_ref: "F"
    })
    const rows: Readonly<Record<string, ReadonlyArray<object>>> = {
      "/chargebacks": ["initiated", "declined", "lost", "won", "a-new-word"].map(chargeback),
      "/refunds": [
        { id: 6, tx_id: 41, amount_refunded: 3, status: "completed" },
        { id: 7, TransactionId: 42, AmountRefunded: "4.25", status: "completed-momo" },
        { id: 8, tx_id: 41, amount_refunded: 3, status: "completed", meta: { disburse_status: "failed" } }
      ]
    }
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? "", "http://host")
      const data = rows[pathname.replace("/v3", "")] ?? []
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ status: "success", data }))
    })
    const { collections } = yield* adapterAt(yield* listening(server))
    const query = { since: 0, until: 1, providerReference: null }
    const { listed } = yield* collections?.clawbacks?.(query) ?? Effect.die(new Error("it lists them"))
    expect(listed.map(({ providerReference }) => providerReference)).toEqual(["41", "41", "41", "41", "41", "41", "42", "41"])
    const facts = listed.map(({ factIn }) => factIn("GHS"))
    expect(facts.map(({ state }) => state)).toEqual(["open", "open", "taken", "kept", "unknown", "open", "taken", "kept"])
    expect(facts.map(({ amount }) => amount)).toEqual([1250n, 1250n, 1250n, 1250n, 1250n, 300n, 425n, 300n])
  })
)

/** An account that lists these charges, one a page, and one transfer. */
const listing = Effect.fnUntraced(function* (...charges: ReadonlyArray<object>) {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://host")
    const page = Number(searchParams.get("page"))
    const isCharges = pathname === "/v3/transactions"
    const data = isCharges ? charges.slice(page - 1, page) : [transfer]
    const meta = { page_info: { total: 1, current_page: page, total_pages: isCharges ? charges.length : 1 } }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ status: "success", data, meta }))
  })
  const { statement } = yield* adapterAt(yield* listening(server))
  return yield* statement?.("2026-01-31") ?? Effect.die(new Error("there is a statement"))
})

const own = {
  direction: "collection",
  providerReference: "1",
  reference: "a",
  amount: 100_000n,
  currency: "NGN",
  fee: 1505n,
  status: "successful",
  at: Date.parse("2026-01-31T23:59:59.000Z")
}
const sent = {
  direction: "payout",
  providerReference: "2",
  reference: "b",
  amount: 20n,
  currency: "UGX",
  fee: 500n,
  status: "failed",
  at: Date.parse("2026-01-31T00:00:00.000Z")
}

it.live("a statement has only the lines of its day, in the gateway's currencies", () =>
  Effect.gen(function* () {
    const foreign = charge({ id: 3, currency: "ZAR" })
    const before = charge({ id: 4, created_at: "2026-01-30T23:59:59.000Z" })
    const after = charge({ id: 5, created_at: "2026-02-01T00:00:00.000Z" })
    expect((yield* listing(foreign, before, charge({}), after)).lines).toStrictEqual([own, sent])
  })
)

it.live("an unpaid charge has no fee in the statement", () =>
  Effect.gen(function* () {
    const pending = charge({ status: "pending", app_fee: null, amount_settled: null })
    expect((yield* listing(pending)).lines).toStrictEqual([{ ...own, status: "pending", fee: null }, sent])
  })
)

it.live("a row that cannot be read is named, and the others stand", () =>
  Effect.gen(function* () {
    for (const [change, word] of [
      [{ status: "unheard-of" }, '"status":"unheard-of"'],
      [{ amount: 10.001 }, '"amount":"10.001", "amount_settled":"984.95", "app_fee":"14", "currency":"NGN"'],
      [{ created_at: "yesterday" }, '"created_at":"yesterday"']
    ] as const) {
      const { lines, unreadable } = yield* listing(charge({ id: 9, tx_ref: "z", ...change }), charge({}))
      expect(lines).toStrictEqual([own, sent])
      expect(unreadable).toMatchObject([{ place: "transactions, page 1, row 1", providerReference: "9", reference: "z", word }])
    }
  })
)

it.effect(
  "a row that is listed twice, because the list shifted while its pages were read, is one movement, as it was shown last",
  () =>
    Effect.gen(function* () {
      const before = charge({ status: "pending" })
      expect((yield* listing(before, charge({}))).lines).toStrictEqual([own, sent])
    })
)
