import { DateTime, Effect, Option, Result, Schema } from "effect"
import { isCurrency } from "../../domain/Currency.ts"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { fromDecimal, fromDecimalUp } from "../../domain/Money.ts"
import type { StatementLine } from "../../domain/Reconciliation.ts"
import type { Provider } from "../../services/ports/Provider.ts"
import type { Client, Deadline } from "../Client.ts"
import { decoded } from "../Reading.ts"
import { type Transaction, TransactionsAnswer } from "./Wire.ts"

const PAGE_SIZE = 100
/** A day of more transactions than these pages hold is not read at all: half a statement would name differences that are none. */
const MAXIMUM_PAGES = 10_000
const DAY_MS = 86_400_000

/** Every transaction of the account that was created on a UTC day. Eversend's days may have another time zone: its neighbours are read too. */
export const statement = (client: Client, deadline: Deadline): NonNullable<Provider["statement"]> =>
  Effect.fn("eversend.statement")(function* (day) {
    const start = DateTime.toEpochMillis(DateTime.makeUnsafe(`${day}T00:00:00Z`))
    const lines: Array<StatementLine> = []
    for (let page = 1; page <= MAXIMUM_PAGES; page++) {
      const query = new URLSearchParams({
        from: dayOf(start - DAY_MS),
        to: dayOf(start + DAY_MS),
        page: String(page),
        limit: String(PAGE_SIZE)
      })
      const call = { operation: "transactions", method: "GET", path: `/transactions?${query}` } as const
      const answer = decoded(TransactionsAnswer, yield* client(call, yield* deadline))
      if (Option.isNone(answer)) return yield* new ProviderError()
      const { transactions } = answer.value.data
      for (const wire of transactions) {
        const line = lineOf(wire)
        if (line === undefined) {
          yield* Effect.logError("a line of Eversend's statement cannot be read", { provider_reference: wire.transactionId })
          return yield* new ProviderError()
        }
        if (line !== "other" && line.at >= start && line.at < start + DAY_MS) lines.push(line)
      }
      if (transactions.length < PAGE_SIZE) return lines
    }
    return yield* new ProviderError()
  })

const dayOf = (at: Instant): string => iso(at).slice(0, "2026-01-31".length)

const Direction = Schema.Literals(["collection", "payout", "exchange"])
const Status = Schema.Literals(["pending", "successful", "failed"])

/** `other`: no movement of ours (a top-up of the wallet, for one). Undefined: cannot be read. */
const lineOf = (wire: typeof Transaction.Type): StatementLine | "other" | undefined => {
  const { amount, createdAt, status, transactionId, type } = wire
  if (!Schema.is(Direction)(type)) return "other"
  const currency = wire.currency ?? wire.sourceCurrency
  if (!isCurrency(currency)) return "other"
  const at = Option.map(DateTime.make(createdAt ?? ""), DateTime.toEpochMillis)
  if (amount === undefined || !Schema.is(Status)(status) || Option.isNone(at)) return undefined
  const principal = fromDecimal(amount, currency)
  const fee = wire.fees === null || wire.fees === undefined ? Result.succeed(null) : fromDecimalUp(wire.fees, currency)
  if (Result.isFailure(principal) || Result.isFailure(fee)) return undefined
  return {
    direction: type,
    providerReference: transactionId,
    reference: wire.transactionRef ?? null,
    amount: principal.success,
    currency,
    fee: fee.success,
    status: wire.isRefunded === true ? "returned" : status,
    at: at.value
  }
}
