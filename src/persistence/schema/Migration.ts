import { createHash } from "node:crypto"

/** A part of the first release's schema. Missing ones are applied in one commit, on a new database that nobody waits for. */
export interface BaseMigration {
  readonly name: string
  readonly sql: string
  /** The checksum in databases, if it is not that of the text. */
  readonly checksum?: string
}

/**
 * A schema change that runs while gateways work. Its steps are done one after the other, each separately, and when a process
 * dies the next one continues. The previous release keeps running on the result, unless `needs` says otherwise:
 * docs/operations/maintaining.md, "Upgrade without a lost request".
 */
export interface SteppedMigration {
  readonly name: string
  /**
   * For a migration that removes something ("contract"): the newest migration that a program must know to keep running from the
   * first step on. A program that does not know it says so and is not ready. Absent when every earlier program keeps running
   * ("expand").
   */
  readonly needs?: string
  readonly steps: ReadonlyArray<MigrationStep>
  /** The checksum in databases, if it is not that of the steps. */
  readonly checksum?: string
}

export type MigrationStep =
  /**
   * Small catalogue changes in one transaction, which neither waits for a lock nor holds one for long, and is retried.
   * `withFunctions`: the program's functions are applied with it, because later steps call them, or need every node to call
   * them; otherwise they are applied after the last migration.
   */
  | { readonly form: "transaction"; readonly sql: string; readonly withFunctions?: true }
  /** An index that is built while its table is written. `definition` follows the table's name: `(app_id, mode) WHERE parked`. */
  | { readonly form: "index"; readonly name: string; readonly table: string; readonly definition: string; readonly unique?: true }
  /**
   * Drops an index while the table is being written. The previous release works without it, too: `lab/releases/ExpandOnly.ts`
   * has the reason for each.
   */
  | { readonly form: "drop"; readonly index: string }
  /** Validates existing rows against a constraint that was added NOT VALID, while the table is being written. */
  | { readonly form: "validate"; readonly table: string; readonly constraint: string }
  /**
   * A statement that changes a bounded number of rows, repeated. `$1` is how far the previous one came, initially the empty
   * text. It returns one row, `reached`, null when nothing is left.
   */
  | { readonly form: "batches"; readonly sql: string }

/** A released migration never changes: the database stores its checksum. */
export type Migration = BaseMigration | SteppedMigration

export const isOfBase = (migration: Migration): migration is BaseMigration => "sql" in migration

export const checksumOf = (migration: Migration): string =>
  migration.checksum ??
  createHash("sha256")
    .update(isOfBase(migration) ? migration.sql : JSON.stringify([migration.needs ?? null, migration.steps]))
    .digest("hex")

const QUOTE = "$gateway_migration$"

/** The driver sends one statement at a time; a DO block runs the whole text, and the server's timeout applies to all of it. */
export const inOneStatement = (text: string): string => `DO $body$ BEGIN EXECUTE ${QUOTE}${text}${QUOTE}; END $body$`
