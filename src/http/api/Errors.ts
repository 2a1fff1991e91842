import { Schema } from "effect"
import { described, exampleOf } from "../../domain/Description.ts"
import { AmbiguousError } from "../../domain/errors/Ambiguous.ts"
import type { ApiError } from "../../domain/errors/ApiError.ts"
import { RetriableError } from "../../domain/errors/Retriable.ts"
import { TerminalError } from "../../domain/errors/Terminal.ts"
import { type ErrorClass, httpStatusByCode } from "./Envelope.ts"

// The errors as responses show them, derived from the domain's: the tag is the code, the fields are the details.

export type Code = ApiError["_tag"]

const members = [
  ...TerminalError.members.map(({ fields }) => ({ fields, errorClass: "terminal" as const })),
  ...RetriableError.members.map(({ fields }) => ({ fields, errorClass: "retriable" as const })),
  ...AmbiguousError.members.map(({ fields }) => ({ fields, errorClass: "ambiguous" as const }))
]
type Member = (typeof members)[number]
const codeOf = ({ fields }: Member): Code => fields._tag.schema.literal

const classes = new Map(members.map((member) => [codeOf(member), member.errorClass]))
export const classOfCode = (code: Code): ErrorClass => classes.get(code) ?? "ambiguous"

const decodeError = Schema.decodeUnknownSync(Schema.Union([TerminalError, RetriableError, AmbiguousError]))

/** One example error per code, built from the examples of its fields. */
export const errorExamples: ReadonlyArray<ApiError> = members.map((member) => {
  const { _tag, ...details } = member.fields
  const shown = Object.entries(details).flatMap(([name, field]) => {
    const example = exampleOf(field)
    return example === undefined ? [] : [[name, example]]
  })
  return decodeError({ _tag: codeOf(member), ...Object.fromEntries(shown) })
})

/** Malformed JSON and invalid fields share one code and differ in their status. */
export const wireCode = (code: Code): string => (code === "malformed_request" ? "validation_failed" : code)

/** The name of a code's error: `NotFound` for `not_found`. */
export const errorSchemaName = (code: Code): string => pascal(wireCode(code))

/** The name of a code's response: `NotFoundResponse` for `not_found`. */
export const responseSchemaName = (code: Code): string => `${pascal(code)}Response`

const pascal = (text: string): string =>
  text
    .split("_")
    .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join("")

const MESSAGE = "For people; do not match on it"
const flags = {
  terminal: "A definite refusal: the same request with the same key can never do better",
  retriable: "Nothing moved: send the same request with the same key again, later",
  ambiguous: "The outcome is not known: do not reverse anything; poll"
}
const flag = (name: ErrorClass, errorClass: ErrorClass) => described(Schema.Literal(name === errorClass), flags[name])

const memberSchema = (member: Member) => {
  const { _tag, ...details } = member.fields
  const { errorClass } = member
  const code = codeOf(member)
  return Schema.Struct({
    code: described(Schema.Literal(wireCode(code)), "The code to branch on"),
    message: described(Schema.String, MESSAGE),
    terminal: flag("terminal", errorClass),
    retriable: flag("retriable", errorClass),
    ambiguous: flag("ambiguous", errorClass),
    details: described(Schema.Struct(details), "What belongs to this code")
  }).annotate({ identifier: errorSchemaName(code), description: `The ${errorClass} error \`${wireCode(code)}\`` })
}

const schemas = members
  .filter((member) => codeOf(member) !== "malformed_request")
  .map((member) => ({ errorClass: member.errorClass, code: codeOf(member), schema: memberSchema(member) }))

const unionOf = (errorClass: ErrorClass, identifier: string) =>
  Schema.Union(schemas.filter((one) => one.errorClass === errorClass).map(({ schema }) => schema)).annotate({
    identifier,
    description: flags[errorClass]
  })

export const AnyError = Schema.Union([
  unionOf("terminal", "TerminalError"),
  unionOf("retriable", "RetriableError"),
  unionOf("ambiguous", "AmbiguousError")
]).annotate({
  identifier: "Error",
  description: "Any error. Branch on `code`, and on which one of `terminal`, `retriable` and `ambiguous` is true"
})

const enveloped = (error: Schema.Top, status: Schema.Top, identifier: string, description: string) =>
  Schema.Struct({
    code: described(status, "The status of the response"),
    message: described(Schema.String, MESSAGE),
    error
  }).annotate({ identifier, description })

/** The error envelopes, one per code and one for any. They bring the named schemas of every error and error class along. */
export const errorEnvelopeSchemas = [
  ...members.flatMap((member) => {
    const code = codeOf(member)
    const schema = schemas.find((one) => one.code === wireCode(code))?.schema
    if (schema === undefined) return []
    return [
      enveloped(
        schema,
        Schema.Literal(httpStatusByCode[code]),
        responseSchemaName(code),
        `Status ${httpStatusByCode[code]}: \`${wireCode(code)}\``
      )
    ]
  }),
  enveloped(
    AnyError,
    Schema.Literals([...new Set(Object.values(httpStatusByCode))]),
    "ErrorResponse",
    "The response of every request that is refused or fails"
  )
]
