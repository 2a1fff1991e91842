import { Schema } from "effect"
import type { Connection } from "../Connection.ts"
import { sumOf } from "../ProviderStatus.ts"
import { lineOf, pagedList, statementOf } from "../Statements.ts"
import { standingOf } from "./Translate.ts"
import { Transaction, TransactionsAnswer } from "./Wire.ts"

const PAGE_SIZE = 100

const isDirection = Schema.is(Schema.Literals(["collection", "payout", "exchange"]))

const transactions = pagedList({
  operation: "transactions",
  path: ({ after, before }, page) =>
    `/transactions?${new URLSearchParams({ from: before, to: after, page: String(page), limit: String(PAGE_SIZE) })}`,
  schema: TransactionsAnswer,
  rows: ({ data }) => data.transactions,
  isLast: ({ data }) => data.transactions.length < PAGE_SIZE,
  row: Transaction,
  members: {
    id: "transactionId",
    reference: "transactionRef",
    currency: ["currency", "sourceCurrency"],
    status: "status",
    sum: ["amount", "fees"],
    beganAt: ["createdAt"]
  },
  // Other movements in the account, such as a top-up of the wallet, are not ours.
  lineOf: (wire) => {
    const currency = wire.currency ?? wire.sourceCurrency
    if (!isDirection(wire.type)) return "foreign"
    return lineOf({
      direction: wire.type,
      providerReference: wire.transactionId,
      reference: wire.transactionRef,
      currency,
      standing: listedAs(wire),
      sum: sumOf({ amount: wire.amount, currency, fee: wire.fees }),
      beganAt: wire.createdAt
    })
  }
})

/** A refunded movement is listed as returned, whatever its status. */
const listedAs = ({ isRefunded, status }: typeof Transaction.Type) => {
  const standing = standingOf(status)
  return standing !== undefined && isRefunded === true ? "returned" : standing
}

/** Every transaction of the account that was created on a UTC day. */
export const statement = (connection: Connection) => statementOf(connection, transactions)
