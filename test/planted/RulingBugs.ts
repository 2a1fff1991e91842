import type { Bug } from "./Bug.ts"

/** What is booked of a provider's word or a person's, and what its tenant is told of it. */
export const rulingBugs: ReadonlyArray<Bug> = [
  {
    name: "credit a collection gross",
    breaks: "a collection is booked net of its fee, or not at all",
    test: "test/providers/contract/Contract.test.ts",
    edits: [
      {
        file: "src/providers/ProviderStatus.ts",
        text: 'sum === undefined || (kind === "collection" && sum.fee === null)',
        instead: "sum === undefined"
      }
    ]
  }
]
