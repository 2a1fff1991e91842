import { Schema } from "effect"

// The meaning of a record's fields, in the words of the API's users. The OpenAPI description shows it.

/** A field with its description and, for errors, an example value. */
export const described = <S extends Schema.Top>(schema: S, description: string, example?: S["Encoded"]): S["Rebuild"] =>
  schema.annotateKey({ description, ...shown(example) })

/** An optional field with its description and, for errors, an example value. */
export const optional = <S extends Schema.Top>(
  schema: S,
  description: string,
  example?: S["Encoded"]
): Schema.optionalKey<S>["Rebuild"] => Schema.optionalKey(schema).annotateKey({ description, ...shown(example) })

/** A field with an example value, whose schema describes itself. */
export const exemplified = <S extends Schema.Top>(schema: S, example: S["Encoded"]): S["Rebuild"] =>
  schema.annotateKey(shown(example))

/** The field's example value; undefined where it has none. */
export const exampleOf = (member: Schema.Top): unknown => Schema.resolveAnnotationsKey(member)?.[EXAMPLE]

const EXAMPLE = "gateway/example"
const shown = (example: unknown) => (example === undefined ? {} : { [EXAMPLE]: example })
