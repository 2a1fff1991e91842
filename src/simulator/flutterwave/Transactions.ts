import { Effect } from "effect"
import type { SimulatedTransaction } from "../Facts.ts"
import { type Call, iso, number, PROVIDER, refuse, success } from "./Call.ts"
import { chargeData } from "./Charges.ts"
import { transferData } from "./Transfers.ts"

const PAGE_SIZE = 20

const verified = (charge: SimulatedTransaction) => {
  const isSettled = charge.status === "successful"
  return {
    ...chargeData(charge),
    amount_settled: isSettled ? number(charge.amount - charge.fee, charge.currency) : null,
    meta: null
  }
}

/** A charge that waits for its payer on a page is not there yet. */
const charges = ({ context, merchant }: Call): ReadonlyArray<SimulatedTransaction> =>
  context.account
    .transactions(PROVIDER, merchant.clientId)
    .filter(({ awaitsPayer, kind }) => kind === "collection" && !awaitsPayer)

/** GET /transactions/verify_by_reference?tx_ref=…: of several with one tx_ref the last. */
export const verifyByReference = Effect.fnUntraced(function* (call: Call) {
  const reference = call.request.query.get("tx_ref") ?? ""
  const found = call.context.account
    .byReference(PROVIDER, call.merchant.clientId, reference)
    .findLast(({ awaitsPayer, kind }) => kind === "collection" && !awaitsPayer)
  if (found === undefined) return yield* refuse(400, "No transaction was found for this reference")
  return success("Transaction fetched successfully", verified(found))
})

/** GET /transactions/{id}/verify */
export const verify = Effect.fnUntraced(function* (call: Call, id: string) {
  const found = call.context.account.transaction(PROVIDER, id)
  if (found === undefined || found.account !== call.merchant.clientId || found.kind !== "collection" || found.awaitsPayer)
    return yield* refuse(400, "No transaction was found for this id")
  return success("Transaction fetched successfully", verified(found))
})

/** GET /transactions?from&to&status&tx_ref&page, newest first. */
export const listTransactions = (call: Call) => {
  const { query } = call.request
  const wanted = query.get("tx_ref")
  const status = query.get("status")
  const found = charges(call).filter(
    (one) => (wanted === null || one.reference === wanted) && (status === null || one.status === status) && isWithin(one, query)
  )
  return paged("Transactions fetched", found, query, verified)
}

/** GET /transfers?reference&status&from&to&page, newest first. */
export const listTransfers = ({ context, merchant, request: { query } }: Call) => {
  const wanted = query.get("reference")
  const all =
    wanted === null
      ? context.account.transactions(PROVIDER, merchant.clientId)
      : context.account.byReference(PROVIDER, merchant.clientId, wanted)
  const status = query.get("status")?.toUpperCase()
  const found = all.filter(
    (one) => one.kind === "payout" && (status === undefined || transferData(one).status === status) && isWithin(one, query)
  )
  return paged("Transfers fetched", found, query, transferData)
}

const isWithin = ({ createdAt }: SimulatedTransaction, query: URLSearchParams): boolean => {
  const day = iso(createdAt).slice(0, 10)
  return day >= (query.get("from") ?? "").slice(0, 10) && (!query.has("to") || day <= (query.get("to") ?? "").slice(0, 10))
}

const paged = (
  message: string,
  found: ReadonlyArray<SimulatedTransaction>,
  query: URLSearchParams,
  row: (one: SimulatedTransaction) => object
) => {
  const current = Math.max(1, Number(/^\d{1,7}$/.exec(query.get("page") ?? "")?.[0] ?? "1"))
  const rows = found.toReversed().slice((current - 1) * PAGE_SIZE, current * PAGE_SIZE)
  const total_pages = Math.ceil(found.length / PAGE_SIZE)
  return Effect.succeed(
    success(
      message,
      rows.map((one) => row(one)),
      { meta: { page_info: { total: found.length, current_page: current, total_pages } } }
    )
  )
}
