import { Schema } from "effect"

/** For how long a divided table has months ahead. */
export const PartitionsAhead = Schema.Struct({ name: Schema.String, aheadSeconds: Schema.Number })

/** How the database itself stands. */
export const DatabaseStanding = Schema.Struct({
  sizeBytes: Schema.Number,
  /** Of every client of the server. */
  connections: Schema.Number,
  /** So many the server gives to clients. */
  connectionsLimit: Schema.Number,
  /** Connected standbys. */
  standbys: Schema.Number,
  /** By how much the last of them is behind; null where nothing is written, and to a role that may not read it. */
  lagSeconds: Schema.NullOr(Schema.Number),
  partitions: Schema.Array(PartitionsAhead),
  /** Migrations of a newer release, which this program can run on, and those that are not done. */
  schema: Schema.Struct({ newer: Schema.Array(Schema.String), underWay: Schema.Array(Schema.String) })
})
export type DatabaseStanding = typeof DatabaseStanding.Type
