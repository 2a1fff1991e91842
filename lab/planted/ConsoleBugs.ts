import type { Bug } from "./Bug.ts"

/** What is done in the console by two people. */
export const consoleBugs: ReadonlyArray<Bug> = [
  {
    name: "proposal: carry out without its lock",
    breaks: "what two people approve is done once, and whoever else presses the button is told so",
    test: "test/console/FloatsByTwo.test.ts",
    edits: [
      {
        file: "src/persistence/schema/functions/access.sql",
        text: "  ORDER BY p.id FOR UPDATE\n",
        instead: "  ORDER BY p.id\n"
      }
    ]
  },
  {
    name: "proposal: end it in another commit",
    breaks: "what two people approve is done once, wherever a process dies",
    test: "test/console/FloatsByTwo.test.ts",
    edits: [
      {
        file: "src/persistence/operators/ProposalsPg.ts",
        text: "        return Option.some(result)\n      },\n      sql.withTransaction,\n",
        instead: "        return Option.some(result)\n      },\n"
      }
    ]
  },
  {
    name: "proposal: let it outlive its operator",
    breaks: "what waits ends with the account of whoever proposed or approved it",
    test: "test/console/FloatsByTwo.test.ts",
    edits: [
      {
        file: "src/persistence/schema/functions/access.sql",
        text: "WHERE p.status = 'approved' AND r.name IN (p.proposed_by, p.decided_by);",
        instead: "WHERE p.status = 'approved' AND r.name = p.decided_by;"
      }
    ]
  },
  {
    name: "session: take its operator's row at its word",
    breaks: "a session of an operator whose role somebody changed with SQL is nobody's",
    test: "test/console/Access.test.ts",
    edits: [
      {
        file: "src/persistence/operators/OperatorsPg.ts",
        text: "if (fits(accessSeal, operatorSeal(keyed, account))) return",
        instead: "if (accessSeal !== null) return"
      }
    ]
  },
  {
    name: "session: leave the age of the account out of it",
    breaks: "a session outlives no account: the next one of the name has none of it",
    test: "test/console/Access.test.ts",
    edits: [{ file: "src/services/SignIn.ts", text: "=> `${name}:${createdAt}:`", instead: "=> `${name}:0:`" }]
  },
  {
    name: "proposal: take the word of its row for who approved it",
    breaks: "nothing is carried out that no gateway wrote down as approved",
    test: "test/console/KeysByTwo.test.ts",
    edits: [
      {
        file: "src/persistence/operators/ProposalsPg.ts",
        text: "return fits(row.approvalSeal, approvalSeal(hash, row, row.decidedBy, row.decidedAt))",
        instead: "return true"
      }
    ]
  },
  {
    name: "operator: forget the token of a removed one",
    breaks: "nobody puts the row of a removed operator back",
    test: "test/persistence/audit/AccessRights.test.ts",
    edits: [
      {
        file: "src/persistence/schema/functions/access.sql",
        text: " OR EXISTS (SELECT FROM removed_operators o WHERE o.token_hash = r.token_hash)",
        instead: ""
      }
    ]
  },
  {
    name: "key: keep the secret of one that is revoked",
    breaks: "a revoked key keeps no secret",
    test: "test/persistence/audit/AccessRights.test.ts",
    edits: [
      {
        file: "src/persistence/schema/functions/access.sql",
        text: "revoked_at = r.revoked_at, signing_secret_sealed = ''",
        instead: "revoked_at = r.revoked_at"
      }
    ]
  },
  {
    name: "key: believe its row that it is not revoked",
    breaks: "no row that somebody writes makes a revoked key valid again",
    test: "test/persistence/audit/AccessRights.test.ts",
    edits: [{ file: "src/persistence/tenants/TenantsPg.ts", text: "isRevoked.has(nameOf(appId, keyId)) || ", instead: "" }]
  },
  {
    name: "proposal: let a removed operator reject",
    breaks: "who decides about a proposal is an operator until the commit",
    test: "test/console/KeysByTwo.test.ts",
    edits: [
      {
        file: "src/persistence/schema/functions/access.sql",
        text: "FOUND OR r.status = 'withdrawn'",
        instead: "FOUND OR r.status <> 'approved'"
      }
    ]
  },
  {
    name: "access: take a key's row at its word",
    breaks: "a key whose mode or role somebody changed with SQL is no key",
    test: "test/persistence/audit/AccessRights.test.ts",
    edits: [{ file: "src/persistence/vault/AccessSeals.ts", text: "    caller.mode,\n", instead: "" }]
  },
  {
    name: "access: seal whatever has no seal",
    breaks: "a row is sealed once, where the audit log says that somebody made it",
    test: "test/persistence/audit/AccessRights.test.ts",
    edits: [
      {
        file: "src/persistence/audit/AccessSealing.ts",
        text: "to !== null && said.get(subject) === text",
        instead: "to !== null"
      }
    ]
  },
  {
    name: "access: leave the grants out of the replay",
    breaks: "audit verify names every row that is not as the log says",
    test: "test/persistence/audit/AccessRights.test.ts",
    edits: [
      {
        file: "src/persistence/audit/AccessReplay.ts",
        text: '[...capabilities].sort().join(" ") || "nothing"',
        instead: 'capabilities.length === 0 ? "nothing" : "something"'
      }
    ]
  },
  {
    name: "proposal: show a key to whoever asks",
    breaks: "only the proposer of a key sees its secrets",
    test: "test/console/KeysByTwo.test.ts",
    edits: [
      {
        file: "src/services/approvals/Approvals.ts",
        text: "proposal.proposedBy !== acting.by || proposal.status",
        instead: "proposal.status"
      }
    ]
  }
]
