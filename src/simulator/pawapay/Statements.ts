import { createHash } from "node:crypto"
import { Effect } from "effect"
import { iso } from "../../domain/Instant.ts"
import { toDecimal } from "../../domain/Money.ts"
import { type Market, markets } from "../../providers/pawapay/Networks.ts"
import { StatementRequest } from "../../providers/pawapay/Wire.ts"
import { ownTransactions } from "../Call.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { response, type Stop } from "../Responses.ts"
import { type Call, decodeBody, json, type PawapayAccount, refuse, rejected } from "./Responses.ts"
import { UUID } from "./Transactions.ts"

const DAYS_31_MS = 31 * 86_400_000
const FILES = "/statement-files"

/** A requested statement. pawaPay stores them for 90 days, the simulator as long as it runs. */
interface Asked {
  readonly merchant: PawapayAccount
  readonly market: Market
  readonly wallet: (typeof StatementRequest.Type)["wallet"]
  readonly from: number
  readonly until: number
  readonly createdAt: number
  /** Gives access to the file without a token. */
  readonly key: string
}

export interface Statements {
  readonly create: (call: Call) => Effect.Effect<ReturnType<typeof json>, Stop>
  readonly status: (call: Call, id: string) => Effect.Effect<ReturnType<typeof json>, Stop>
  readonly file: (call: Call, id: string) => Effect.Effect<ReturnType<typeof json>, Stop>
  /** The account whose file a request is for; undefined where there is no such file, or the key does not match. */
  readonly ownerOf: (line: string, key: string | null) => PawapayAccount | undefined
}

export const openStatements = (): Statements => {
  const all = new Map<string, Asked>()
  const own = (call: Call, id: string) => {
    const asked = all.get(id)
    return asked?.merchant.clientId === call.merchant.clientId ? asked : undefined
  }
  return {
    create: Effect.fnUntraced(function* (call: Call) {
      const { endDate, startDate, wallet } = yield* decodeBody(StatementRequest, call.request)
      const market = markets.find(({ currency, iso3 }) => iso3 === wallet.country && currency === wallet.currency)
      if (market === undefined || wallet.provider !== undefined) return yield* rejected(200, "WALLET_NOT_FOUND")
      const [from, until] = [Date.parse(`${startDate}Z`), Date.parse(`${endDate}Z`)]
      if (!(from < until) || until - from > DAYS_31_MS) return yield* rejected(200, "INVALID_PARAMETER")
      const id = uuidOf(`${call.merchant.clientId} ${call.context.account.sequence()} ${call.now}`)
      all.set(id, { merchant: call.merchant, market, wallet, from, until, createdAt: call.now, key: uuidOf(`${id} file`) })
      return json(200, { statementId: id, status: "ACCEPTED", created: iso(call.now) })
    }),
    status: Effect.fnUntraced(function* (call: Call, id: string) {
      if (!UUID.test(id)) return yield* refuse(400, "INVALID_PARAMETER")
      const asked = own(call, id)
      if (asked === undefined) return json(200, { status: "NOT_FOUND" })
      const { createdAt, from, key, until, wallet } = asked
      const [startDate, endDate, completedAt] = [iso(from), iso(until), iso(call.now)]
      const downloadUrl = `http://${call.request.header("host") ?? ""}/v2${FILES}/${id}?key=${key}`
      const created = iso(createdAt)
      const data = { statementId: id, status: "COMPLETED", wallet, created, startDate, endDate, downloadUrl, completedAt }
      return json(200, { status: "FOUND", data })
    }),
    file: Effect.fnUntraced(function* (call: Call, id: string) {
      const asked = own(call, id)
      if (asked === undefined) return yield* refuse(404, "NOT_FOUND")
      return response(
        200,
        "text/csv",
        `${[HEADER, ...rowsOf(call, asked)].map((row) => row.map(written).join(",")).join("\r\n")}\r\n`
      )
    }),
    ownerOf: (line, key) => {
      const asked = all.get(line.split("/").at(-1) ?? "")
      return line.startsWith(`GET ${FILES}/`) && asked?.key === key ? asked.merchant : undefined
    }
  }
}

/** A UUID v4 derived from a text. */
const uuidOf = (text: string): string => {
  const hex = createHash("sha256").update(text).digest("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** The words and the order of pawaPay's page about statements. */
const HEADER = [
  "Creation Date",
  "MSISDN",
  "Transaction ID",
  "Amount",
  "Currency",
  "Country",
  "MNO",
  "Type",
  "Balance",
  "Reason",
  "Metadata"
]

const written = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** Newest first. A country's payments have their own wallet, even where several countries share one currency. */
const rowsOf = (call: Call, { from, market, until }: Asked): ReadonlyArray<ReadonlyArray<string>> =>
  [...ownTransactions(call, "payout"), ...ownTransactions(call, "collection")]
    .filter(({ currency, detail }) => currency === market.currency && detail["country"] === market.iso3)
    .flatMap((one) => movesOf(one).map((move) => ({ ...move, one })))
    .filter(({ at }) => at >= from && at <= until)
    .toSorted((one, other) => other.at - one.at)
    .map(({ amount, at, id, one, type }) => [
      iso(at),
      one.detail["phoneNumber"] ?? "",
      id ?? one.id,
      toDecimal(amount, one.currency),
      one.currency,
      market.iso3,
      one.detail["provider"] ?? "",
      type,
      "0",
      "",
      one.detail["metadata"] ?? "{}"
    ])

interface Move {
  readonly type: string
  readonly amount: bigint
  readonly at: number
  readonly id?: string
}

/** Every movement of the wallet has its own row: the payment, each fee, and what came back. */
const movesOf = (one: SimulatedTransaction): ReadonlyArray<Move> => {
  const { amount, createdAt, fee, id, kind, returned, status, updatedAt } = one
  if (kind === "payout")
    return [
      { type: "Payout", amount: -amount, at: createdAt },
      ...(status === "failed" ? [{ type: "Failed payout refund", amount, at: updatedAt }] : []),
      ...(status === "successful" ? feesOf("payout", fee, updatedAt) : []),
      ...(returned ? [{ type: "Adjustment", amount, at: updatedAt }] : [])
    ]
  if (status !== "successful") return []
  return [
    { type: "Deposit", amount, at: createdAt },
    ...feesOf("deposit", fee, createdAt),
    ...(returned ? [{ type: "Refund", amount: -amount, at: updatedAt, id: uuidOf(`refund of ${id}`) }] : [])
  ]
}

/** One part goes to the network, and the rest to pawaPay. */
const feesOf = (kind: "payout" | "deposit", fee: bigint, at: number): ReadonlyArray<Move> => {
  const ofNetwork = fee / 3n
  return [
    { type: `${kind === "payout" ? "Payout" : "Deposit"} pass-through fee`, amount: -ofNetwork, at },
    { type: `pawaPay ${kind} fee`, amount: ofNetwork - fee, at }
  ].filter((move) => move.amount !== 0n)
}
