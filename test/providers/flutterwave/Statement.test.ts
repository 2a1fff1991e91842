import { createServer } from "node:http"
import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { flutterwave } from "../../../src/providers/flutterwave/Adapter.ts"
import { listening } from "../../support/ListeningServer.ts"

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
  const port = yield* listening(server)
  const key = Redacted.make("key")
  const settings = {
    baseUrl: `http://127.0.0.1:${port}/v3`,
    secretKey: key,
    webhookSecretHash: key,
    sender: null,
    emailDomain: "example.com",
    timeoutMs: 10_000
  }
  const { statement } = yield* flutterwave(settings, "live")
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
