import { Schema } from "effect"
import { AmbiguousError } from "../../domain/errors/Ambiguous.ts"
import { RetriableError } from "../../domain/errors/Retriable.ts"
import { TerminalError } from "../../domain/errors/Terminal.ts"
import type { ApiError } from "../../services/ports/ResponseEncoder.ts"
import { type ErrorClass, statuses } from "../Envelope.ts"
import { described } from "./Wire.ts"

// The errors as they stand in a response. They come from the domain's own: the tag is the code, and the fields are the details.

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

/** Malformed text and malformed fields share one code and differ in their status. */
export const wireCode = (code: Code): string => (code === "malformed_request" ? "validation_failed" : code)

/** The name of a code's schema: `NotFound` for `not_found`. */
export const errorSchemaName = (code: Code): string =>
  wireCode(code)
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
  .map((member) => ({ errorClass: member.errorClass, schema: memberSchema(member) }))

const unionOf = (errorClass: ErrorClass, identifier: string) =>
  Schema.Union(schemas.filter((one) => one.errorClass === errorClass).map(({ schema }) => schema)).annotate({
    identifier,
    description: flags[errorClass]
  })

/** The response of an error, with the named schemas of every error: one a code, one a class, and any of them. */
export const ErrorResponse = Schema.Struct({
  code: described(Schema.Literals([...new Set(Object.values(statuses))]), "The status of the response"),
  message: described(Schema.String, MESSAGE),
  error: Schema.Union([
    unionOf("terminal", "TerminalError"),
    unionOf("retriable", "RetriableError"),
    unionOf("ambiguous", "AmbiguousError")
  ]).annotate({
    identifier: "Error",
    description: "Any error. Branch on `code`, and on which one of `terminal`, `retriable` and `ambiguous` is true"
  })
}).annotate({ identifier: "ErrorResponse", description: "The response of every request that is refused or fails" })
