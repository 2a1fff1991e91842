import { Schema } from "effect"
import { Currency } from "../../domain/Currency.ts"
import { described } from "../../domain/Description.ts"
import { EventType } from "../../domain/Event.ts"
import { Reference } from "../../domain/Ids.ts"
import { FxExchange } from "./Fx.ts"
import { CollectionSchema, PayoutSchema } from "./Records.ts"
import { Amount, Metadata, Timestamp } from "./Wire.ts"

// The bodies of webhooks (contract HOOK-6, HOOK-7). domain/Event encodes them; these schemas describe them.

const TestMessage = Schema.Struct({
  message: described(Schema.String, "Says that it is a test"),
  metadata: Metadata
}).annotate({ identifier: "TestMessage", description: "The content of a `webhook.test`" })

const FloatAdjustment = Schema.Struct({
  reference: described(Reference, "The reference of its entry in your statement"),
  external_id: described(Schema.String, "What you and the operators agreed to call it"),
  currency: described(Currency, "The float of this currency"),
  amount_minor: described(Amount, "The amount, in minor units of `currency`"),
  available_minor: described(Amount, "What a payout could draw from right after it"),
  reserved_minor: described(Amount, "What payouts and exchanges in flight held right after it"),
  metadata: described(Metadata, "Always empty"),
  version: described(Schema.Int, "Always 1: it never changes"),
  is_test_mode: described(Schema.Boolean, "True where it is of test mode"),
  created_at: described(Timestamp, "When it was booked")
}).annotate({ identifier: "FloatAdjustment", description: "A credit or a debit of your float by the gateway's operators" })

const LowFloat = Schema.Struct({
  currency: described(Currency, "The float of this currency"),
  available_minor: described(Amount, "What a payout could draw from then, in minor units of `currency`"),
  reserved_minor: described(Amount, "What payouts and exchanges in flight held then"),
  below_minor: described(Amount, "The amount that you set"),
  metadata: described(Metadata, "Always empty"),
  is_test_mode: described(Schema.Boolean, "True where it is of test mode"),
  created_at: described(Timestamp, "When it was seen")
}).annotate({ identifier: "LowFloat", description: "A float that fell below the amount that you set for it" })

/** The summary of each event type, and the record that it carries. */
const contents = {
  "collection.requires_action": ["The payer of a collection has to do something", CollectionSchema],
  "collection.pending": ["A collection is under way", CollectionSchema],
  "collection.successful": ["A collection was paid, and your float credited", CollectionSchema],
  "collection.failed": ["A collection failed", CollectionSchema],
  "collection.expired": ["A collection's time passed", CollectionSchema],
  "collection.reversed": ["A successful collection was taken back, and your float debited", CollectionSchema],
  "collection.corrected": ["What came in by a successful collection was corrected, and your float with it", CollectionSchema],
  "collection.updated": ["Something else of a collection changed; no money moved", CollectionSchema],
  "payout.pending": ["A payout was accepted, and its amount and fee reserved", PayoutSchema],
  "payout.successful": ["A payout reached the recipient", PayoutSchema],
  "payout.failed": ["A payout failed, and your float was returned", PayoutSchema],
  "payout.returned": ["Money of a successful payout came back, and your float was credited", PayoutSchema],
  "payout.corrected": ["What a successful payout took was corrected, and your float with it", PayoutSchema],
  "payout.updated": ["Something else of a payout changed; no money moved", PayoutSchema],
  "fx.successful": ["An exchange was made", FxExchange],
  "fx.failed": ["An exchange failed, and your float was returned", FxExchange],
  "fx.updated": ["Something else of an exchange changed; no money moved", FxExchange],
  "float.credited": ["The gateway's operators credited your float", FloatAdjustment],
  "float.debited": ["The gateway's operators debited your float", FloatAdjustment],
  "float.low": ["Your float fell below the amount that you set", LowFloat],
  "webhook.test": ["A test that you asked for", TestMessage]
} as const satisfies Readonly<Record<EventType, readonly [string, Schema.Top]>>

/** The name of an event's schema: `PayoutFailedEvent` for `payout.failed`. */
export const eventSchemaName = (type: EventType): string =>
  `${type
    .split(/[._]/)
    .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join("")}Event`

export const eventSummary = (type: EventType): string => contents[type][0]

const eventSchema = (type: EventType) =>
  Schema.Struct({
    id: described(Schema.String, "The event's id: the same in every attempt and repetition, and the header `webhook-id`"),
    type: described(Schema.Literal(type), `Always \`${type}\``),
    api_version: described(Schema.Literal("v1"), "The version of this form"),
    timestamp: described(Timestamp, "When it happened"),
    app_id: described(Schema.String, "Your `app_id`"),
    is_test_mode: described(Schema.Boolean, "True where it happened in test mode"),
    data: described(contents[type][1], "The record as it was then")
  }).annotate({ identifier: eventSchemaName(type), description: eventSummary(type) })

/** The body of any event, with the named schema of every type. */
export const Event = Schema.Union(EventType.literals.map(eventSchema)).annotate({
  identifier: "Event",
  description: "Any event, by its `type`"
})
