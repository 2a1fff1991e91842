import type { Connection } from "../Connection.ts"
import { type Days, lineOf, pagedList, statementOf } from "../Statements.ts"
import { chargeLineMeaning, chargeSum, transferMeaning, transferSum } from "./Translate.ts"
import { Listed, Transaction, Transfer } from "./Wire.ts"

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

/** Without a page count the first empty page is the end. */
const isLast = ({ data, meta }: Page, page: number): boolean =>
  meta === undefined ? data.length === 0 : page >= Number(meta.page_info.total_pages)

const list = { schema: Listed, rows: ({ data }: Page) => data, isLast }
const shared = { id: "id", currency: ["currency"], status: "status", beganAt: ["created_at"] } as const

const charges = pagedList({
  ...list,
  operation: "transactions",
  path: paged("transactions"),
  row: Transaction,
  members: { ...shared, reference: "tx_ref", sum: ["amount", "amount_settled", "app_fee"] },
  lineOf: (charge) =>
    lineOf({
      direction: "collection",
      providerReference: charge.id,
      reference: charge.tx_ref,
      currency: charge.currency,
      standing: chargeLineMeaning(charge.status),
      sum: chargeSum(charge),
      beganAt: charge.created_at
    })
})

const transfers = pagedList({
  ...list,
  operation: "transfers",
  path: paged("transfers"),
  row: Transfer,
  members: { ...shared, reference: "reference", sum: ["amount", "fee"] },
  lineOf: (transfer) =>
    lineOf({
      direction: "payout",
      providerReference: transfer.id,
      reference: transfer.reference,
      currency: transfer.currency,
      standing: transferMeaning(transfer.status),
      sum: transferSum(transfer),
      beganAt: transfer.created_at
    })
})
