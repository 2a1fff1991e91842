import { Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { CapSubject } from "../../domain/AmountCaps.ts"
import { Currency } from "../../domain/Currency.ts"
import { described } from "../../domain/Description.ts"
import { LimitDirection } from "../../domain/VelocityLimits.ts"
import { NEEDS_NOTHING, operation } from "./Operation.ts"
import { Amount, Enveloped, Timestamp } from "./Wire.ts"

const Count = Schema.NullOr(Schema.Int)

/** One of the caller's limits or caps, and how much of it is used (contract LIM-33). */
const Limit = Schema.Struct({
  direction: described(LimitDirection, "Payouts, collections, or codes that are texted to payers"),
  window: described(Schema.Literals(["hour", "day"]), "It counts by UTC hour, or by UTC day"),
  applies_to: described(CapSubject, "It counts all of yours in the key's mode, each recipient's or payer's, or each key's"),
  scope: described(Schema.Literals(["count", "amount"]), "It counts how many, or adds up amounts"),
  maximum_count: described(Count, "How many in one window; null for a cap of amounts"),
  used_count: described(
    Count,
    "How many so far; null for a cap of amounts, and where each recipient or payer has a window of its own"
  ),
  currency: described(Schema.NullOr(Currency), "The currency of a cap of amounts, else null"),
  maximum_minor: described(Schema.NullOr(Amount), "How much in one window, in minor units of `currency`; null for a count"),
  used_minor: described(
    Schema.NullOr(Amount),
    "How much so far, of the key that asks where it applies to keys; null for a count, and where each recipient or payer has a window of its own"
  ),
  window_ends_at: described(Timestamp, "When the window of now ends")
}).annotate({ identifier: "Limit", description: "A limit that holds for you, and what is used of it" })

const Limits = Schema.Array(Limit).annotate({
  identifier: "Limits",
  description: "The limits that hold for the key's mode, in the order in which they refuse"
})

/** `GET /v1/limits`. */
export const limitsEndpoint = HttpApiEndpoint.get("limits", "/v1/limits", { success: Enveloped(Limits) }).annotateMerge(
  operation(
    "List your limits",
    `How many transactions you may make, how much money you may move and how many codes you may have texted in a window of time, and what is used by now. It is a report: a payout counts for itself. ${NEEDS_NOTHING}`
  )
)
