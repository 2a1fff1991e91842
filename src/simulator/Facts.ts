import { Schema } from "effect"
import { Currency } from "../domain/Currency.ts"
import { Ending } from "./Endings.ts"

// The memory of the simulator's account, as it is written to disk: one JSON line is one array of facts that belong together.

const Minor = Schema.BigIntFromString

export const SimulatedTransaction = Schema.Struct({
  provider: Schema.String,
  /** The merchant's account at the provider: its client id. Live and test mode are two accounts. */
  account: Schema.String,
  /** The provider's own identifier. */
  id: Schema.String,
  /** The client's reference, from the wire's field for it. */
  reference: Schema.NullOr(Schema.String),
  kind: Schema.Literals(["payout", "collection", "exchange"]),
  status: Schema.Literals(["pending", "successful", "failed"]),
  /** The payer still has to visit the provider's page; nothing is played before that. */
  awaitsPayer: Schema.Boolean,
  returned: Schema.Boolean,
  ending: Ending,
  currency: Currency,
  /** Without the fee. */
  amount: Minor,
  fee: Minor,
  destinationCurrency: Currency,
  destinationAmount: Minor,
  reason: Schema.NullOr(Schema.String),
  createdAt: Schema.Int,
  updatedAt: Schema.Int,
  /** The response to the call that made it already reports its success. */
  decidedAtOnce: Schema.optionalKey(Schema.Literal(true)),
  /** Its fee comes back with it. */
  feeReturns: Schema.optionalKey(Schema.Literal(true)),
  /** Fields that only this provider's wire has. */
  detail: Schema.Record(Schema.String, Schema.NullOr(Schema.String))
})
export type SimulatedTransaction = typeof SimulatedTransaction.Type

type Named = "provider" | "account" | "id" | "reference" | "kind" | "ending" | "currency" | "amount" | "fee"

/** A new transaction: pending, and by default the amount that arrives is the amount that was sent. */
export const newTransaction = (
  now: number,
  own: Pick<SimulatedTransaction, Named> & Partial<Omit<SimulatedTransaction, Named>>
): SimulatedTransaction => ({
  status: "pending",
  awaitsPayer: false,
  returned: false,
  destinationCurrency: own.currency,
  destinationAmount: own.amount,
  reason: null,
  createdAt: now,
  updatedAt: now,
  detail: {},
  ...own
})

/** One movement of money. */
export const Execution = Schema.Struct({
  provider: Schema.String,
  direction: Schema.Literals(["payout", "collection", "exchange", "return"]),
  reference: Schema.String,
  client_reference: Schema.NullOr(Schema.String),
  amount_minor: Schema.Int,
  currency: Currency,
  status: Schema.Literals(["successful"]),
  at: Schema.String
})
export type Execution = typeof Execution.Type

export const OutgoingCallback = Schema.Struct({
  body: Schema.String,
  headers: Schema.Record(Schema.String, Schema.String),
  /** POST where it is absent. */
  method: Schema.optionalKey(Schema.Literals(["POST", "PUT"])),
  /** Appended to the account's address: the last part of the address that the request gave. */
  path: Schema.optionalKey(Schema.String),
  /** How often it is retried after a response other than 200; a forged one never is. */
  retries: Schema.Int
})
export type OutgoingCallback = typeof OutgoingCallback.Type

/** Work that is due at a time and survives a restart. */
export const Job = Schema.Struct({
  id: Schema.String,
  at: Schema.Int,
  provider: Schema.String,
  account: Schema.String,
  work: Schema.Union([
    Schema.Struct({ kind: Schema.Literal("settle"), transaction: Schema.String }),
    Schema.Struct({ kind: Schema.Literal("return"), transaction: Schema.String }),
    Schema.Struct({ kind: Schema.Literal("pay"), transaction: Schema.String }),
    // Sent in this order, each only after the previous one was answered or given up.
    Schema.Struct({ kind: Schema.Literal("callbacks"), attempt: Schema.Int, callbacks: Schema.Array(OutgoingCallback) })
  ])
})
export type Job = typeof Job.Type

export const Fact = Schema.Union([
  Schema.Struct({ fact: Schema.Literal("transaction"), transaction: SimulatedTransaction }),
  Schema.Struct({ fact: Schema.Literal("execution"), execution: Execution }),
  Schema.Struct({
    fact: Schema.Literal("wallet"),
    provider: Schema.String,
    account: Schema.String,
    currency: Currency,
    change: Minor
  }),
  Schema.Struct({ fact: Schema.Literal("job"), job: Job }),
  Schema.Struct({ fact: Schema.Literal("job_done"), id: Schema.String }),
  // Anything else that a provider must not forget: used tokens, one-time codes, callback addresses.
  Schema.Struct({ fact: Schema.Literal("note"), key: Schema.String, value: Schema.String })
])
export type Fact = typeof Fact.Type

export const Facts = Schema.fromJsonString(Schema.Array(Fact))
