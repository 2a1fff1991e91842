import { Schema } from "effect"

// The meaning of a record's members, in the words of the API's users. The API description shows it.

/** A member with its description, and in an error with a value to show. */
export const described = <S extends Schema.Top>(schema: S, description: string, example?: S["Encoded"]): S["Rebuild"] =>
  schema.annotateKey({ description, ...shown(example) })

/** A member that may be left out, with its description, and in an error with a value to show. */
export const optional = <S extends Schema.Top>(
  schema: S,
  description: string,
  example?: S["Encoded"]
): Schema.optionalKey<S>["Rebuild"] => Schema.optionalKey(schema).annotateKey({ description, ...shown(example) })

/** A member with a value to show, whose schema describes itself. */
export const exemplified = <S extends Schema.Top>(schema: S, example: S["Encoded"]): S["Rebuild"] =>
  schema.annotateKey(shown(example))

/** The member's value to show; undefined for none. */
export const exampleOf = (member: Schema.Top): unknown => Schema.resolveAnnotationsKey(member)?.[EXAMPLE]

const EXAMPLE = "gateway/example"
const shown = (example: unknown) => (example === undefined ? {} : { [EXAMPLE]: example })
