import type { Connection } from "../Connection.ts"
import { type Days, lineOf, pagedList, statementOf } from "../Statements.ts"
import { chargeStanding, chargeSum, transferStanding, transferSum } from "./Translate.ts"
import { type Transaction, TransactionsAnswer, type Transfer, TransfersAnswer } from "./Wire.ts"

/** All charges and transfers that began on a UTC day. */
export const statement = (connection: Connection) => statementOf(connection, charges, transfers)

const paged =
  (name: string) =>
  ({ after, before }: Days, page: number): string =>
    `/${name}?${new URLSearchParams({ from: before, to: after, page: String(page) })}`

interface Page {
  readonly data: ReadonlyArray<unknown>
  readonly meta?: { readonly page_info: { readonly total_pages: string } }
}

/** Without the number of pages the first empty one is the end. */
const isLast = ({ data, meta }: Page, page: number): boolean =>
  meta === undefined ? data.length === 0 : page >= Number(meta.page_info.total_pages)

const charges = pagedList({
  operation: "transactions",
  path: paged("transactions"),
  schema: TransactionsAnswer,
  rows: ({ data }) => data,
  isLast,
  lineOf: (charge: typeof Transaction.Type) =>
    lineOf({
      direction: "collection",
      providerReference: charge.id,
      reference: charge.tx_ref,
      currency: charge.currency,
      standing: chargeStanding(charge.status),
      sum: chargeSum(charge),
      beganAt: charge.created_at
    })
})

const transfers = pagedList({
  operation: "transfers",
  path: paged("transfers"),
  schema: TransfersAnswer,
  rows: ({ data }) => data,
  isLast,
  lineOf: (transfer: typeof Transfer.Type) =>
    lineOf({
      direction: "payout",
      providerReference: transfer.id,
      reference: transfer.reference,
      currency: transfer.currency,
      standing: transferStanding(transfer.status),
      sum: transferSum(transfer),
      beganAt: transfer.created_at
    })
})
