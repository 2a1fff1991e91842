import type { Connection } from "../Connection.ts"
import { type Days, lineOf, pagedList, statementOf } from "../Statements.ts"
import { chargeLineMeaning, chargeSum, transferMeaning, transferSum } from "./Translate.ts"
import { ListedTransfer, ownReference, Transaction, TransactionsAnswer, TransfersAnswer } from "./Wire.ts"

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

interface Page {
  readonly data: ReadonlyArray<unknown>
}
const list = {
  operation: "statement",
  rows: ({ data }: Page) => data,
  isLast: ({ data }: Page) => data.length < PAGE_SIZE
}
const shared = {
  reference: "reference",
  currency: ["currency"],
  status: "status",
  beganAt: ["createdAt", "created_at"]
} as const

const referenceIn = (wire: string | null | undefined): string | null =>
  wire === null || wire === undefined ? null : (ownReference(wire) ?? wire)

const charges = pagedList({
  ...list,
  path: paged("/transaction"),
  schema: TransactionsAnswer,
  row: Transaction,
  members: { ...shared, id: "id", sum: ["amount", "fees"] },
  lineOf: (charge) =>
    lineOf({
      direction: "collection",
      providerReference: charge.id,
      reference: referenceIn(charge.reference),
      currency: charge.currency,
      standing: chargeLineMeaning(charge.status),
      sum: chargeSum(charge),
      beganAt: charge.createdAt ?? charge.created_at
    })
})

const transfers = pagedList({
  ...list,
  path: paged("/transfer"),
  schema: TransfersAnswer,
  row: ListedTransfer,
  members: { ...shared, id: "transfer_code", sum: ["amount", "fee_charged"] },
  lineOf: (transfer) =>
    lineOf({
      direction: "payout",
      providerReference: transfer.transfer_code,
      reference: referenceIn(transfer.reference),
      currency: transfer.currency,
      standing: transferMeaning(transfer.status),
      sum: transferSum(transfer),
      beganAt: transfer.createdAt ?? transfer.created_at
    })
})
