import type { Bug } from "./Bug.ts"

// What is limited: neither more than that, nor less.

export const limitBugs: ReadonlyArray<Bug> = [
  {
    name: "prompt handsets without end",
    breaks: "no more live charges of one tenant in an hour and a day than its limit",
    test: "test/domain/VelocityLimits.test.ts",
    edits: [
      {
        file: "src/domain/VelocityLimits.ts",
        text: "collection: { hour: 1_200, day: 10_000, destination: 10,",
        instead: "collection: { destination: 10,"
      }
    ]
  },
  {
    name: "refuse the last payout of a limit",
    breaks: "what a limit allows is not refused",
    edits: [
      {
        file: "src/services/admission/Velocity.ts",
        text: "window.used + window.amount > window.bound",
        instead: "window.used + window.amount >= window.bound"
      }
    ]
  },
  {
    name: "guard a number for too long",
    breaks: "only a recent charge refuses the next one",
    edits: [{ file: "src/services/collections/ChargeGuard.ts", text: "= 15 * 60_000", instead: "= 45 * 60_000" }]
  },
  {
    name: "charge a number that has just paid",
    breaks: "no charge of a number within fifteen minutes of one that succeeded",
    test: "test/scenarios/ChargeGuard.test.ts",
    edits: [{ file: "src/services/collections/ChargeGuard.ts", text: "repeats && succeededBefore", instead: "succeededBefore" }]
  },
  {
    name: "count no ceiling",
    breaks: "not more through a provider's account in a day than its ceiling",
    edits: [{ file: "src/services/admission/Velocity.ts", text: "Option.isNone(ceiling)", instead: "true" }]
  }
]
