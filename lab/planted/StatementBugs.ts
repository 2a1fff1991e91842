import type { Bug } from "./Bug.ts"

// Mistakes in how the statements of an account are read.

export const statementBugs: ReadonlyArray<Bug> = [
  {
    name: "fetch a statement from whatever host ends like pawaPay's",
    breaks: "what is compared with our books comes from pawaPay",
    test: "test/providers/pawapay/Statement.test.ts",
    edits: [
      {
        file: "src/providers/pawapay/Statement.ts",
        text: "hostname.endsWith(host.slice(1))",
        instead: "hostname.endsWith(host.slice(2))"
      }
    ]
  },
  {
    name: "take a payout that came back for one that was paid",
    breaks: "a statement's payout that failed afterwards has failed",
    test: "test/providers/pawapay/Statement.test.ts",
    edits: [
      {
        file: "src/providers/pawapay/StatementRows.ts",
        text: 'status: index < undone.length ? "failed"',
        instead: 'status: index < 0 ? "failed"'
      }
    ]
  }
]
