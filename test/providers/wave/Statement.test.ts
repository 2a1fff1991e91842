import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { newReference } from "../contract/Orders.ts"
import { answer, stub } from "../ProviderStub.ts"
import { open } from "./Orders.ts"

const row = (
  transaction_id: string,
  transaction_type: string,
  [amount, fee]: readonly [string, string | null],
  change: object = {}
) => ({
  timestamp: "2026-11-27T10:00:00Z",
  transaction_id,
  transaction_type,
  amount,
  fee,
  balance: "984750",
  currency: "XOF",
  is_reversal: false,
  ...change
})
const page = (items: ReadonlyArray<object>, end_cursor: string | null = null) =>
  answer(200, { page_info: { start_cursor: "a", end_cursor, has_next_page: end_cursor !== null }, date: "2026-11-27", items })

it.effect(
  "a day of all wallets is read to its last cursor: what moved, its fee, what came back, and refunds by their charge",
  () =>
    Effect.gen(function* () {
      const [paid, reversed, charged, strange] = [newReference(), newReference(), newReference(), newReference()]
      const first = page(
        [
          row("T_1", "api_payout", ["-25250", "250"], { client_reference: paid }),
          row("T_2", "api_payout", ["-10100", "100"], { client_reference: reversed }),
          row("T_3", "merchant_payment", ["500", "5"])
        ],
        "c&2"
      )
      const second = page([
        row("T_4", "api_payout_reversal", ["10100", "100"], { client_reference: reversed, is_reversal: true }),
        row("T_5", "api_checkout", ["14850", "150"], { client_reference: charged, checkout_api_session_id: "cos-1" }),
        row("T_6", "api_checkout_refund", ["-15000", null], { client_reference: charged, checkout_api_session_id: "cos-1" }),
        row("T_7", "", ["7", null], { client_reference: strange }),
        row("T_8", "", ["8", null])
      ])
      const server = yield* stub({
        "GET /v1/transactions?date=2026-11-27&after=": [second],
        "GET /v1/transactions?date=2026-11-27": [
          (response, seen) => (seen.headers.authorization === "Bearer wave_ci_prod_key" ? first : page([]))(response, seen)
        ]
      })
      const { statement } = yield* open(server.baseUrl)
      const { lines, unreadable, unsteady } = yield* statement?.("2026-11-27") ?? Effect.die("no statement")
      expect(unsteady).toEqual([])
      expect(lines.map(({ amount, direction, fee, reference, status }) => [direction, status, amount, fee, reference])).toEqual([
        ["payout", "debited", 25_000n, 250n, paid],
        ["payout", "returned", 10_000n, 100n, reversed],
        ["collection", "credited", 15_000n, 150n, charged],
        ["payout", "debited", 15_000n, null, null]
      ])
      expect(lines.flatMap(({ refundOf }) => refundOf ?? [])).toEqual([charged, "cos-1"])
      expect(unreadable.map(({ providerReference, reference }) => [providerReference, reference])).toEqual([["T_7", strange]])
      expect(server.seen.map(({ line }) => line)).toContain("GET /v1/transactions?date=2026-11-27&after=c%262")
      const wallets = new Set(server.seen.map(({ headers }) => headers.authorization))
      expect([...wallets].sort()).toEqual(["Bearer wave_ci_prod_key", "Bearer wave_sn_prod_key"])
    }).pipe(Effect.scoped)
)

/** The lines of a day in which one wallet had these movements. */
const linesOf = Effect.fnUntraced(function* (items: ReadonlyArray<object>) {
  const server = yield* stub({
    "GET /v1/transactions": [
      (response, seen) => page(seen.headers.authorization === "Bearer wave_ci_prod_key" ? items : [])(response, seen)
    ]
  })
  const { statement } = yield* open(server.baseUrl)
  const { lines } = yield* statement?.("2026-11-27") ?? Effect.die("no statement")
  return lines.map(({ amount, reference, refundOf, status }) => [status, amount, refundOf ?? reference])
})

it.effect("a reversal that names no payout hides no refund of a charge, and no payout without a name", () =>
  Effect.gen(function* () {
    const charged = newReference()
    const lines = yield* linesOf([
      row("T_1", "api_payout_reversal", ["10100", "100"]),
      row("T_2", "api_checkout_refund", ["-15000", null], { client_reference: charged, checkout_api_session_id: "cos-1" }),
      row("T_3", "api_payout", ["-5050", "50"])
    ])
    expect(lines).toEqual([
      ["returned", 10_000n, null],
      ["debited", 15_000n, [charged, "cos-1"]],
      ["debited", 5_000n, null]
    ])
  }).pipe(Effect.scoped)
)

it.effect("a reversal takes back one payout: another one by the same reference stays", () =>
  Effect.gen(function* () {
    const paid = { client_reference: newReference() }
    const twice = [row("T_1", "api_payout", ["-10100", "100"], paid), row("T_2", "api_payout", ["-10100", "100"], paid)]
    const back = (id: string) => row(id, "api_payout_reversal", ["10100", "100"], paid)
    const [debited, returned] = ["debited", "returned"].map((status) => [status, 10_000n, paid.client_reference])
    expect(yield* linesOf([...twice, back("T_3")])).toEqual([debited, returned])
    expect(yield* linesOf([...twice, back("T_3"), back("T_4")])).toEqual([returned, returned])
  }).pipe(Effect.scoped)
)
