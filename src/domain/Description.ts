import { Schema } from "effect"

// What a member of a record means, in the words of the API's users. The API description shows it.

/** A member with its description. */
export const described = <S extends Schema.Top>(schema: S, description: string): S["Rebuild"] =>
  schema.annotateKey({ description })

/** A member that may be left out, with its description. */
export const optional = <S extends Schema.Top>(schema: S, description: string): Schema.optionalKey<S>["Rebuild"] =>
  Schema.optionalKey(schema).annotateKey({ description })
