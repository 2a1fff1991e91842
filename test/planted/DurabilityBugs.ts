import type { Bug } from "./Bug.ts"

// Mistakes in what keeps money known: when it may leave, what a commit survives, and what is removed by whose clock.

export const durabilityBugs: ReadonlyArray<Bug> = [
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
    test: "test/persistence/ClockWatch.test.ts",
    edits: [
      {
        file: "src/persistence/ClockWatchPg.ts",
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
  }
]
