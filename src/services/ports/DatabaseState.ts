import { Schema } from "effect"

/** For how long a divided table has months ahead. */
export const PartitionsAhead = Schema.Struct({ name: Schema.String, aheadSeconds: Schema.Number })

/** The settings in force that decide whether commits survive a crash of a server. */
export const CommitSettings = Schema.Struct({
  /** Address and port; null where it is reached by a socket of this machine. */
  server: Schema.NullOr(Schema.String),
  synchronousCommit: Schema.String,
  fsync: Schema.String,
  fullPageWrites: Schema.String,
  /** Why they do not, as `name = value`; null where they do. */
  weakness: Schema.NullOr(Schema.String),
  /** Whether it is said to be a test's, which throws it away. */
  isThrownAway: Schema.Boolean
})
export type CommitSettings = typeof CommitSettings.Type

/** How the archive of the write-ahead log stands, which bounds what a restore forgets. */
export const ArchiveState = Schema.Struct({
  /** Whether the last try failed. */
  isFailing: Schema.Boolean,
  /** For how long nothing was archived although something was written since; 0 where nothing was. */
  behindSeconds: Schema.Number
})

export const DatabaseState = Schema.Struct({
  sizeBytes: Schema.Number,
  /** Of every client of the server. */
  connections: Schema.Number,
  /** So many the server gives to clients. */
  connectionsLimit: Schema.Number,
  /** Connected standbys. */
  standbys: Schema.Number,
  /** By how much the last of them is behind; null where nothing is written, and to a role that may not read it. */
  lagSeconds: Schema.NullOr(Schema.Number),
  /** On Citus of each server that has tenants and answers, of others one. */
  commits: Schema.Array(CommitSettings),
  /** Of the server that is connected to; null where it archives nothing. */
  archive: Schema.NullOr(ArchiveState),
  partitions: Schema.Array(PartitionsAhead),
  /** Migrations and functions of a newer release, which this program can run on, and those that are not done. */
  schema: Schema.Struct({ newer: Schema.Array(Schema.String), underWay: Schema.Array(Schema.String) })
})
export type DatabaseState = typeof DatabaseState.Type
