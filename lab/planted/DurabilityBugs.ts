import type { Bug } from "./Bug.ts"

// Mistakes in what keeps money known: when it may leave, what a commit survives, and what is removed by whose clock.

const DURABILITY = "src/persistence/connection/servers/Durability.ts"
const MIGRATIONS = "test/persistence/schema/Migrations.test.ts"
const KEPT = "test/persistence/connection/servers/Durability.test.ts"

export const durabilityBugs: ReadonlyArray<Bug> = [
  {
    name: "leave synchronous_commit to the database",
    breaks: "what was answered outlives a crash of a database that was told to commit later",
    test: KEPT,
    edits: [
      { file: DURABILITY, text: "OR pg_backend_pid() <> $1 THEN", instead: "OR pg_backend_pid() <> $1 OR true THEN" },
      {
        file: DURABILITY,
        text: "NOT IN ('on', 'remote_apply') THEN",
        instead: "NOT IN ('on', 'remote_apply', 'off', 'local') THEN"
      }
    ]
  },
  {
    name: "take an archive for one that works, whatever failed last",
    breaks: "a server says when its write-ahead log is not archived",
    test: KEPT,
    edits: [
      {
        file: "src/persistence/status/DatabaseStatePg.ts",
        text: "a.last_failed_time > coalesce(",
        instead: "a.last_failed_time > 'infinity' AND a.last_failed_time > coalesce("
      }
    ]
  },
  {
    name: "lower remote_apply to on",
    breaks: "no session waits for less than its database asks for",
    test: KEPT,
    edits: [
      { file: DURABILITY, text: "WHEN 'remote_apply' THEN 'remote_apply' ELSE", instead: "WHEN 'remote_apply' THEN 'on' ELSE" }
    ]
  },
  {
    name: "work with a server without fsync",
    breaks: "no money leaves for what a crash of the server could take back",
    test: KEPT,
    edits: [
      {
        file: DURABILITY,
        text: "CASE WHEN current_setting('fsync') <> 'on' THEN",
        instead: "CASE WHEN current_setting('fsync') IS NULL THEN"
      }
    ]
  },
  {
    name: "take a primary however it commits",
    breaks: "of several servers none is written to that a crash could take commits back from",
    test: "test/persistence/connection/servers/PrimaryChoice.test.ts",
    edits: [
      {
        file: "src/persistence/connection/servers/PrimaryChoice.ts",
        text: "return facts.weakness === null",
        instead: "return facts.name !== null"
      }
    ]
  },
  {
    name: "look at the time only before the call",
    breaks: "after a suspension no money leaves, whichever requests of its call had gone out before",
    test: "test/providers/contract/Contract.test.ts",
    edits: [
      {
        file: "src/providers/Transport.ts",
        text: 'call.method === "GET" ? inTime : yield* tooLateToLeave',
        instead: "(yield* tooLateToLeave) && inTime"
      }
    ]
  },
  {
    name: "remove by a clock that is in doubt",
    breaks: "nothing is removed while the database's clock is in doubt",
    test: "test/services/DataRetention.test.ts",
    edits: [
      {
        file: "src/services/DataRetention.ts",
        text: `Effect.map(attempt("the database's clock", clock.look), Option.flatten)`,
        instead: "Effect.map(Clock.currentTimeMillis, Option.some)"
      }
    ]
  },
  {
    name: "let a doubt end by itself",
    breaks: "a doubt about the clock ends when an operator confirms it",
    test: "test/persistence/status/ClockWatch.test.ts",
    edits: [
      {
        file: "src/persistence/status/ClockWatchPg.ts",
        text: "if (doubt !== null || row.doubt !== null) return",
        instead: "if (doubt !== null) return"
      }
    ]
  },
  {
    name: "accept what was signed before its nonce was removed",
    breaks: "no step of the clock has a request accepted twice",
    test: "test/services/admission/Authentication.test.ts",
    edits: [
      {
        file: "src/services/admission/Authentication.ts",
        text: " || isForgotten(timestamp, yield* noncesUntil)",
        instead: ""
      }
    ]
  },
  {
    name: "let a leap of the clock pass a grace",
    breaks: "a payout is not declared never sent before its grace has passed, whatever the clock does",
    test: "test/domain/StatusPoll.test.ts",
    edits: [
      {
        file: "src/domain/StatusPoll.ts",
        text: "passedAtLeast(leaps, Math.max(record.updatedAt, begunAt), polledAt)",
        instead: "polledAt - record.updatedAt"
      }
    ]
  },
  {
    name: "take a clock that leapt for a steady one",
    breaks: "every process knows of a leap of the clock with the time that it leapt to",
    test: "test/persistence/connection/DatabaseClock.test.ts",
    edits: [
      {
        file: "src/persistence/connection/DatabaseClock.ts",
        text: "if (from !== null) leaps = withLeap(leaps, { from, to: nowMs() })\n",
        instead: ""
      }
    ]
  },
  {
    name: "charge again after a leap of the clock",
    breaks: "a payer is not charged twice because the clock leapt over the guard's fifteen minutes",
    test: "test/services/collections/ChargeGuard.test.ts",
    edits: [
      {
        file: "src/services/collections/ChargeGuard.ts",
        text: "passedAtLeast(leaps, at, since) >= LOOK_BACK_MS",
        instead: "since - at >= LOOK_BACK_MS"
      }
    ]
  },
  {
    name: "expire a charge by a leap of the clock",
    breaks: "a payer has the whole window, whatever the clock does",
    test: "test/domain/StatusPoll.test.ts",
    edits: [
      {
        file: "src/domain/StatusPoll.ts",
        text: "passedAtLeast(leaps, record.createdAt, polledAt) >= record.expiresAt - record.createdAt",
        instead: "polledAt - record.createdAt >= record.expiresAt - record.createdAt"
      }
    ]
  },
  {
    name: "believe that the functions are as they were put",
    breaks: "a function that another release replaced is put again by the next start",
    test: MIGRATIONS,
    edits: [
      {
        file: "src/persistence/schema/SchemaFunctions.ts",
        text: "s.digest IS DISTINCT FROM c.digest",
        instead: "s.digest IS NULL AND c.digest IS NULL"
      }
    ]
  },
  {
    name: "put one build's functions over those of another build of the same release",
    breaks: "two builds of one release do not undo each other",
    test: MIGRATIONS,
    edits: [
      {
        file: "src/persistence/schema/SchemaFunctions.ts",
        text: "(versions.get(name) ?? 0) < version",
        instead: "(versions.get(name) ?? 0) <= version"
      },
      {
        file: "src/persistence/schema/SchemaFunctions.ts",
        text: "there.version === version && there.checksum",
        instead: "there.version === 0 && there.checksum"
      }
    ]
  }
]
