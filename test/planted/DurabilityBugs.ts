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
  }
]
