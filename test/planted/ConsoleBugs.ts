import type { Bug } from "./Bug.ts"

/** What is done in the console by two people. */
export const consoleBugs: ReadonlyArray<Bug> = [
  {
    name: "proposal: carry out without its lock",
    breaks: "what two people approve is done once, and whoever else presses the button is told so",
    test: "test/console/FloatsByTwo.test.ts",
    edits: [
      { file: "src/persistence/ProposalsPg.ts", text: "AND status = 'approved' FOR UPDATE`", instead: "AND status = 'approved'`" }
    ]
  },
  {
    name: "proposal: end it in another commit",
    breaks: "what two people approve is done once, wherever a process dies",
    test: "test/console/FloatsByTwo.test.ts",
    edits: [{ file: "src/persistence/ProposalsPg.ts", text: "      sql.withTransaction,\n", instead: "" }]
  },
  {
    name: "proposal: show a key to whoever asks",
    breaks: "only the proposer of a key sees its secrets",
    test: "test/console/KeysByTwo.test.ts",
    edits: [
      {
        file: "src/services/console/Approvals.ts",
        text: "proposal.proposedBy !== acting.by || proposal.status",
        instead: "proposal.status"
      }
    ]
  }
]
