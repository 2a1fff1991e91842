import { Schema } from "effect"

// Tumbuka Pay's bodies, shared by the adapter and the simulator. Amounts are decimal strings in major units.

// POST /transfers, POST /charges
export const MovementRequest = Schema.Struct({
  client_ref: Schema.NonEmptyString,
  amount: Schema.String,
  currency: Schema.String,
  country: Schema.String,
  network: Schema.String,
  msisdn: Schema.String
})

/** One transfer or charge, in every answer. `failure` is there when it failed. */
export const Movement = Schema.Struct({
  id: Schema.NonEmptyString,
  client_ref: Schema.NonEmptyString,
  status: Schema.String,
  amount: Schema.String,
  currency: Schema.String,
  fee: Schema.String,
  failure: Schema.NullOr(Schema.String),
  created_at: Schema.String,
  updated_at: Schema.String
})
export type Movement = typeof Movement.Type

/** Every refusal. */
export const ErrorAnswer = Schema.Struct({ error: Schema.Struct({ code: Schema.NonEmptyString }) })

// GET /statement?day=2026-01-31
export const StatementAnswer = Schema.Struct({
  transfers: Schema.Array(Schema.Unknown),
  charges: Schema.Array(Schema.Unknown)
})

/** It only says which one to ask for. */
export const CallbackBody = Schema.Struct({ id: Schema.NonEmptyString, client_ref: Schema.NonEmptyString, status: Schema.String })
