import { DateTime, Effect, Schema, SchemaTransformation } from "effect"
import type { SqlError } from "effect/sql"
import { Instant } from "../../domain/Instant.ts"

/** A `timestamptz` column, which the driver hands over as a `Date`. */
export const Moment = Schema.DateTimeUtcFromDate.pipe(
  Schema.decodeTo(Instant, SchemaTransformation.transform({ decode: DateTime.toEpochMillis, encode: DateTime.makeUnsafe }))
)

/** Runs a statement and decodes each of its rows. A database that fails, or a row of another shape, is a defect. */
export const rowsOf = <A>(row: Schema.ConstraintDecoder<A>) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(row))
  return (statement: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>): Effect.Effect<ReadonlyArray<A>> =>
    statement.pipe(Effect.flatMap(decode), Effect.orDie)
}
