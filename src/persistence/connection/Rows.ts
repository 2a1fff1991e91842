import { DateTime, Effect, Schema, SchemaTransformation } from "effect"
import type { SqlError } from "effect/sql"
import { Instant } from "../../domain/Instant.ts"

/** A `timestamptz` column, which the driver returns as a `Date`. */
export const Moment = Schema.DateTimeUtcFromDate.pipe(
  Schema.decodeTo(Instant, SchemaTransformation.transform({ decode: DateTime.toEpochMillis, encode: DateTime.makeUnsafe }))
)

/** Runs a statement and decodes its rows. A failing database, or a row of another shape, is a defect. */
export const rowsOf = <A>(row: Schema.ConstraintDecoder<A>) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(row))
  return (statement: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>): Effect.Effect<ReadonlyArray<A>> =>
    statement.pipe(Effect.flatMap(decode), Effect.orDie)
}

/** The later of two positions in a list with the newest first. Rows with the same time are ordered by id. */
export const laterOf =
  <Position extends { readonly id: string }>(createdAt: (position: Position) => Instant) =>
  (one: Position, other: Position): Position =>
    createdAt(other) < createdAt(one) || (createdAt(other) === createdAt(one) && other.id < one.id) ? other : one
