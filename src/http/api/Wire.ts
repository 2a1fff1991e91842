import { Schema, SchemaAST } from "effect"
import { described } from "../../domain/Description.ts"

// Wire schemas that several resources share. Their member names are the contract's; amounts are JSON integers. An `identifier`
// is the schema's name in the API description, and in every client that is generated from it.

/** A non-blank text of at most `longest` characters. */
export const text = (longest: number) =>
  Schema.String.check(
    Schema.isPattern(/\S/u, { expected: "a text that is not blank" }),
    Schema.isMaxLength(longest, { expected: `at most ${longest} characters long` })
  )

/** An amount in a request: a positive whole number of minor units that JSON represents exactly. */
const askable = { expected: `a whole number from 1 to ${Number.MAX_SAFE_INTEGER}` }
export const AskedAmount = Schema.Number.check(
  Schema.isInt(askable),
  Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, askable)
).annotate({ format: "int64" })

export const Amount = Schema.Number.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
).annotate({ format: "int64" })

/** A moment in UTC with milliseconds, such as 2026-01-31T12:00:00.000Z. */
export const Timestamp = Schema.String.annotate({ format: "date-time" })

export const Narration = text(140)
/** An object of at most 4096 bytes as compact UTF-8 JSON. */
export const Metadata = Schema.Record(Schema.String, Schema.Unknown).annotate({
  identifier: "Metadata",
  description:
    "Your own members, echoed as they came in every answer and event. An object of at most 4096 bytes as compact UTF-8 JSON"
})
export const MAXIMUM_METADATA_BYTES = 4096

const URL_LONGEST = 2048
export const WebUrl = Schema.String.annotate({ format: "uri" }).check(
  Schema.isMaxLength(URL_LONGEST, { expected: `at most ${URL_LONGEST} characters long` }),
  Schema.makeFilter((url: string) => /^https?:\/\//.test(url) && URL.canParse(url), { expected: "an http or https URL" })
)

/** The success response of an endpoint. It is named after its data: `PayoutResponse`. */
export const Enveloped = <S extends Schema.Top>(data: S) => {
  const name = SchemaAST.resolveIdentifier(data.ast)
  return Schema.Struct({
    code: described(Schema.Int, "The status of the response"),
    message: described(Schema.Literal("ok"), "For people; do not match on it"),
    data
  }).annotate({ identifier: `${name}Response`, description: SchemaAST.resolveDescription(data.ast) })
}
