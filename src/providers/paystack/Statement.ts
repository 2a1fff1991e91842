import type { Connection } from "../Connection.ts"
import { type Days, lineOf, pagedList, statementOf } from "../Statements.ts"
import { chargeStanding, chargeSum, transferStanding, transferSum } from "./Translate.ts"
import { ownReference, type Transaction, TransactionsAnswer, type Transfer, TransfersAnswer } from "./Wire.ts"

const PAGE_SIZE = 100

/** Charges and transfers that began on a UTC day. */
export const statement = (connection: Connection) => statementOf(connection, charges, transfers)

const paged =
  (path: string) =>
  ({ day }: Days, page: number): string =>
    `${path}?${new URLSearchParams({
      from: `${day}T00:00:00.000Z`,
      to: `${day}T23:59:59.999Z`,
      perPage: String(PAGE_SIZE),
      page: String(page)
    })}`

const isLast = ({ data }: { readonly data: ReadonlyArray<unknown> }): boolean => data.length < PAGE_SIZE

const charges = pagedList({
  operation: "statement",
  path: paged("/transaction"),
  schema: TransactionsAnswer,
  rows: ({ data }) => data,
  isLast,
  lineOf: (charge: typeof Transaction.Type) =>
    lineOf({
      direction: "collection",
      providerReference: charge.id,
      reference: ownReference(charge.reference) ?? charge.reference,
      currency: charge.currency,
      standing: chargeStanding(charge.status),
      sum: chargeSum(charge),
      beganAt: charge.createdAt ?? charge.created_at
    })
})

const transfers = pagedList({
  operation: "statement",
  path: paged("/transfer"),
  schema: TransfersAnswer,
  rows: ({ data }) => data,
  isLast,
  lineOf: (transfer: typeof Transfer.Type) =>
    lineOf({
      direction: "payout",
      providerReference: transfer.transfer_code,
      reference: ownReference(transfer.reference) ?? transfer.reference,
      currency: transfer.currency,
      standing: transferStanding(transfer.status),
      sum: transferSum(transfer),
      beganAt: transfer.createdAt ?? transfer.created_at
    })
})
