import { Schema } from "effect"
import { Exchange } from "./Exchange.ts"
import { Collection, Payout } from "./Payment.ts"

/** A movement of a tenant's money by its provider: a collection, a payout or an exchange. */
export const Transaction = Schema.Union([Collection, Payout, Exchange])
export type Transaction = typeof Transaction.Type
export type TransactionKind = Transaction["kind"]
