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
  },
  {
    name: "look for a refund's charge by nothing but the refund's own number",
    breaks: "a refund made at the provider is a person's",
    test: "test/services/settlement/StatementRefunds.test.ts",
    edits: [
      {
        file: "src/services/settlement/Clawbacks.ts",
        text: "refundedBy(provider, line.refundOf ?? [])",
        instead: "refundedBy(provider, [line.providerReference])"
      }
    ]
  },
  {
    name: "take a day without one of its wallets for the whole day",
    breaks: "a refund made at the provider is a person's",
    test: "test/services/settlement/StatementRefunds.test.ts",
    edits: [
      {
        file: "src/services/settlement/ClawbackSweeps.ts",
        text: "return isWhole && !isPart && learnt",
        instead: "return isWhole && learnt"
      }
    ]
  },
  {
    name: "let the release before end the late polls of what failed",
    breaks: "a node of the release before ends nothing that this one still asks about",
    test: "test/persistence/ledger/LatePolls.test.ts",
    edits: [
      {
        file: "src/persistence/schema/functions/late_poll.sql",
        text: "p_status = 'failed' AND",
        instead: "p_status = 'expired' AND"
      }
    ]
  }
]
