import { createHash } from "node:crypto"

/**
 * A part of the schema that was there at the first release. What is missing of these is applied in one commit: only on a new database, where nobody is held up.
 */
export interface BaseMigration {
  readonly name: string
  readonly sql: string
  /** What databases keep of it, where that is not made of its text. */
  readonly checksum?: string
}

/**
 * A change of a schema that gateways work on. Its steps are done one after the other, each by itself, and a process that dies goes on where it
 * was. The release before keeps running on the result, unless the migration says what it needs: docs/operations/maintaining.md, "Upgrade without a lost request".
 */
export interface SteppedMigration {
  readonly name: string
  /**
   * For a migration that takes something away ("contract"): the newest migration that a program has to know to run from the first step on. A program
   * that does not know it says so and is not ready. Absent where every program that ran before still runs ("expand").
   */
  readonly needs?: string
  readonly steps: ReadonlyArray<MigrationStep>
  /** What databases keep of it, where that is not made of its steps. */
  readonly checksum?: string
}

export type MigrationStep =
  /**
   * Small changes of the catalogue, in one transaction that neither waits for a lock nor holds one for long, and is tried again. With the program's
   * functions where what follows calls them, or needs every node to call them: else they are applied after the last migration.
   */
  | { readonly form: "transaction"; readonly sql: string; readonly withFunctions?: true }
  /** An index, built while the table is written to. `definition` is what follows the table: `(app_id, mode) WHERE parked`. */
  | { readonly form: "index"; readonly name: string; readonly table: string; readonly definition: string; readonly unique?: true }
  /** Checks the rows that were there before a constraint that was added NOT VALID, while the table is written to. */
  | { readonly form: "validate"; readonly table: string; readonly constraint: string }
  /**
   * One statement that changes a bounded number of rows, repeated. `$1` is how far the one before came, at first the empty text; it answers one row,
   * `reached`, null when nothing is left.
   */
  | { readonly form: "batches"; readonly sql: string }

/** Once released it never changes: what it became is in the checksum that the database keeps. */
export type Migration = BaseMigration | SteppedMigration

export const isOfBase = (migration: Migration): migration is BaseMigration => "sql" in migration

export const checksumOf = (migration: Migration): string =>
  migration.checksum ??
  createHash("sha256")
    .update(isOfBase(migration) ? migration.sql : JSON.stringify([migration.needs ?? null, migration.steps]))
    .digest("hex")

const QUOTE = "$gateway_migration$"

/** The driver sends one statement at a time; a DO block takes the whole text, and the server's bound is for all of it. */
export const inOneStatement = (text: string): string => `DO $body$ BEGIN EXECUTE ${QUOTE}${text}${QUOTE}; END $body$`
