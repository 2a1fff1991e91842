import { Schema } from "effect"

/** How far ahead a partitioned table has partitions. */
export const PartitionsAhead = Schema.Struct({ name: Schema.String, aheadSeconds: Schema.Number })

/** The settings in force that decide whether commits survive a server crash. */
export const CommitSettings = Schema.Struct({
  /** Address and port; null when it is reached through a local socket. */
  server: Schema.NullOr(Schema.String),
  synchronousCommit: Schema.String,
  fsync: Schema.String,
  fullPageWrites: Schema.String,
  /** The setting that makes commits unsafe, as `name = value`; null when none does. */
  weakness: Schema.NullOr(Schema.String),
  /** Whether the database is declared as a test database that will be thrown away. */
  isThrownAway: Schema.Boolean
})
export type CommitSettings = typeof CommitSettings.Type

/** The state of write-ahead log archiving, which bounds what a restore loses. */
export const ArchiveState = Schema.Struct({
  /** Whether the last attempt failed. */
  isFailing: Schema.Boolean,
  /** How long nothing has been archived although something was written; 0 when nothing was. */
  behindSeconds: Schema.Number
})

export const DatabaseState = Schema.Struct({
  sizeBytes: Schema.Number,
  /** Connections of all clients of the server. */
  connections: Schema.Number,
  /** How many connections the server allows its clients. */
  connectionsLimit: Schema.Number,
  /** Connected standbys. */
  standbys: Schema.Number,
  /** The lag of the slowest standby; null when nothing is being written, or when the role may not read it. */
  lagSeconds: Schema.NullOr(Schema.Number),
  /** One entry on plain PostgreSQL; on Citus one for each server that holds tenants and answers. */
  commits: Schema.Array(CommitSettings),
  /** Archiving of the connected server; null when it does not archive. */
  archive: Schema.NullOr(ArchiveState),
  partitions: Schema.Array(PartitionsAhead),
  /** Migrations and functions of a newer release that this program can run on, and those that are not complete. */
  schema: Schema.Struct({ newer: Schema.Array(Schema.String), underWay: Schema.Array(Schema.String) })
})
export type DatabaseState = typeof DatabaseState.Type
