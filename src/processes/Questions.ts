import { Schema } from "effect"
import { AppId, Mode } from "../domain/Ids.ts"
import { operations } from "../services/ports/CircuitStates.ts"
import type { Question } from "./Conversation.ts"

const question = <Asked, Answer>(
  name: string,
  asked: Schema.Codec<Asked, unknown>,
  answer: Schema.Codec<Answer, unknown>
): Question<Asked, Answer> => ({ name, asked, answer })

const OfBucket = {
  bucket: Schema.String,
  limit: Schema.Struct({ count: Schema.Number, windowMs: Schema.Number, burst: Schema.Number })
}
const Bucket = Schema.Struct({ ...OfBucket, tokens: Schema.Number })
const Limited = Schema.Struct({ _tag: Schema.Literal("Limited"), retryAfterSeconds: Schema.Number })
const Line = Schema.Struct({ provider: Schema.String, mode: Mode, operation: Schema.Literals(operations) })
const Call = Schema.Struct({ line: Line, tenant: Schema.NullOr(AppId) })

/** What a worker asks the primary process. */
export const ofWorkers = {
  /** It takes requests, and where. */
  ready: question("ready", Schema.Struct({ url: Schema.String, consoleUrl: Schema.NullOr(Schema.String) }), Schema.Null),
  /** It cannot start, and why. */
  failed: question("failed", Schema.Array(Schema.String), Schema.Null),
  take: question("take", Bucket, Schema.Union([Schema.Struct({ _tag: Schema.Literal("Allowed") }), Limited])),
  reserve: question(
    "reserve",
    Schema.Struct({ ...OfBucket, longestMs: Schema.Number }),
    Schema.Union([Schema.Struct({ _tag: Schema.Literal("Reserved"), waitMs: Schema.Number }), Limited])
  ),
  close: question("close", Schema.Struct({ ...OfBucket, forMs: Schema.Number }), Schema.Null),
  giveBack: question("giveBack", Bucket, Schema.Null),
  /** Whether a call may go ahead, to which the worker gives a number. */
  beginCall: question("beginCall", Schema.Struct({ ...Call.fields, call: Schema.Int }), Schema.Boolean),
  /** The end of a call, by its number; null of one that was let through without asking. */
  endCall: question(
    "endCall",
    Schema.Struct({
      ...Call.fields,
      call: Schema.NullOr(Schema.Int),
      verdict: Schema.Literals(["answered", "failed", "unreachable", "abandoned"])
    }),
    Schema.Null
  ),
  isOpen: question("isOpen", Call, Schema.Boolean),
  standing: question("standing", Line, Schema.Struct({ all: Schema.Boolean, tenants: Schema.Array(AppId) }))
}

/** What the primary process asks a worker. */
export const ofPrimary = {
  obstacle: question("obstacle", Schema.Null, Schema.NullOr(Schema.String)),
  metrics: question("metrics", Schema.Literals(["database", "nothing"]), Schema.String),
  alive: question("alive", Schema.Null, Schema.Null),
  /** Lines of circuits on which some call has failed since the last that was answered, and lines on which none has. */
  lines: question("lines", Schema.Array(Schema.Struct({ line: Line, isUntouched: Schema.Boolean })), Schema.Null)
}
