import type { Bug } from "./Bug.ts"

/** What lets a tenant, or somebody outside, learn or do what is not theirs. */
export const doorBugs: ReadonlyArray<Bug> = [
  {
    name: "write 100 Continue into the middle of an answer",
    breaks: "what a connection was answered arrives whole and in order",
    test: "test/http/edge/ConnectionEnd.test.ts",
    edits: [
      {
        file: "src/http/edge/NodeListener.ts",
        text: "if (response.socket !== null) return response.writeContinue()",
        instead: "if (response.req !== null) return response.writeContinue()"
      }
    ]
  },
  {
    name: "take any part of a path for a parameter",
    breaks: "a path is read as it was sent",
    test: "test/runtime/PathPattern.test.ts",
    edits: [
      {
        file: "src/runtime/PathPattern.ts",
        text: 'segment.startsWith(":") ? parameter.test(parts[at] ?? "") :',
        instead: 'segment.startsWith(":") ? parameter !== undefined :'
      }
    ]
  },
  {
    name: "send for a tenant that has no sender",
    breaks: "where a provider has to be told who pays, nothing of a tenant without a sender is sent",
    test: "test/scenarios/routing/Senders.test.ts",
    edits: [
      {
        file: "src/services/routing/Routes.ts",
        text: 'sender === null ? use === "needed"',
        instead: 'sender === null ? use === "taken"'
      }
    ]
  },
  {
    name: "tell a provider another sender than the tenant's",
    breaks: "who pays is the tenant, and the account only where the tenant has no sender",
    test: "test/providers/flutterwave/Order.test.ts",
    edits: [
      {
        file: "src/providers/flutterwave/Order.ts",
        text: "own === null\n    ? ofAccount",
        instead: "own === null || ofAccount !== null\n    ? ofAccount"
      }
    ]
  },
  {
    name: "give every payer one e-mail address",
    breaks: "no two payers without an address share one",
    test: "test/providers/flutterwave/Order.test.ts",
    edits: [
      {
        file: "src/providers/PayerEmail.ts",
        text: "`${own}@${domain}`",
        instead: "`${own.slice(0, 0)}payer@${domain}`"
      }
    ]
  },
  {
    name: "pay a bank without its branch",
    breaks: "no branch of a bank is guessed",
    test: "test/scenarios/reference/BankCodes.test.ts",
    edits: [
      {
        file: "src/services/payouts/PayoutPricing.ts",
        text: "destination.branchCode === undefined && needsBranch(codes, destination.country)",
        instead: "destination.branchCode === undefined && codes === undefined"
      }
    ]
  },
  {
    name: "take another branch under the same key",
    breaks: "the branch is part of the request",
    test: "test/scenarios/payouts/EveryProvider.test.ts",
    edits: [
      {
        file: "src/http/body/Parties.ts",
        text: "...(said.branch_code === undefined ? {} : { branchCode: said.branch_code }),",
        instead: "branchCode: undefined,"
      }
    ]
  },
  {
    name: "tell tenants what their names resolve to",
    breaks: "a tenant learns nothing of our network from an endpoint that was not reached",
    test: "test/services/webhooks/WebhookDispatcher.test.ts",
    edits: [
      {
        file: "src/services/webhooks/EndpointConnection.ts",
        text: "excerpt: sent === undefined ? unsent : excerpt",
        instead: "excerpt: sent === undefined ? problem : excerpt"
      }
    ]
  },
  {
    name: "count a number twice, by momo and by wallet",
    breaks: "a recipient is one, however it is spelled",
    test: "test/domain/PartyIdentity.test.ts",
    edits: [
      {
        file: "src/domain/PartyIdentity.ts",
        text: 'if (identifier === "msisdn") return numberIdentity(value)\n',
        instead: ""
      }
    ]
  },
  {
    name: "forget what earlier releases blocked",
    breaks: "a block of an earlier release still refuses",
    test: "test/domain/PartyIdentity.test.ts",
    edits: [
      {
        file: "src/domain/Denylist.ts",
        text: ", ...earlierNumbers(text)",
        instead: ""
      }
    ]
  },
  {
    name: "block the phone that has the digits of a blocked account",
    breaks: "a phone and an account with the same digits are two parties",
    test: "test/scenarios/requests/Limits.test.ts",
    edits: [
      {
        file: "src/persistence/tenants/DenylistPg.ts",
        text: "OR d.party = a.party)",
        instead: "OR d.party <> 'unsaid')"
      }
    ]
  },
  {
    name: "take a block for one that is there, whatever it is of",
    breaks: "a block that is taken blocks somebody",
    test: "test/scenarios/requests/Limits.test.ts",
    edits: [
      {
        file: "src/persistence/tenants/DenylistPg.ts",
        text: "return isOfAnother ? ",
        instead: 'return isOfAnother && kind !== "destination" ? '
      }
    ]
  },
  {
    name: "block a national number in no country",
    breaks: "a block that is taken blocks somebody",
    test: "test/domain/PartyIdentity.test.ts",
    edits: [
      {
        file: "src/domain/Denylist.ts",
        text: "if (NUMBER.test(plain)) return Result.fail(",
        instead: "if (plain.length > 999) return Result.fail("
      }
    ]
  },
  {
    name: "screen no name of a phone's holder",
    breaks: "a denied name is denied by every method",
    test: "test/scenarios/payouts/PayoutRefusals.test.ts",
    edits: [
      {
        file: "src/services/admission/PartyScreening.ts",
        text: "const names = [nameOf(destination)].filter(isGiven)",
        instead: 'const names = destination._tag === "bank" ? [destination.accountName] : []'
      }
    ]
  },
  {
    name: "give one tenant's lists every place",
    breaks: "one tenant's lists hold up nobody else's",
    test: "test/persistence/connection/HeavyReads.test.ts",
    edits: [
      {
        file: "src/persistence/connection/HeavyReads.ts",
        text: "turn: Semaphore.makeUnsafe(1)",
        instead: "turn: Semaphore.makeUnsafe(READS_AT_ONCE)"
      }
    ]
  },
  {
    name: "leave the last record of a batch out of the index of metadata",
    breaks: "what was there before an index came is found by it",
    test: "test/persistence/transactions/MetadataMembers.test.ts",
    edits: [
      {
        file: "src/persistence/schema/migrations/0019_metadata_members.sql",
        text: "t.reference > after AND t.reference <= upto ON CONFLICT",
        instead: "t.reference > after AND t.reference < upto ON CONFLICT"
      }
    ]
  },
  {
    name: "compare pawaPay's signatures with the host that a request names, whatever is set",
    breaks: "a callback that was signed for another merchant's host is refused",
    test: "test/providers/pawapay/Callback.test.ts",
    edits: [
      {
        file: "src/providers/pawapay/Callback.ts",
        text: "hosts.length === 0 ? [",
        instead: "hosts.length >= 0 ? ["
      }
    ]
  },
  {
    name: "keep taking a callback address that was retired",
    breaks: "a callback address that somebody learnt can be changed",
    test: "test/providers/CallbackPaths.test.ts",
    edits: [
      {
        file: "src/providers/Registry.ts",
        text: "numbers.map((number) => routeKeyOf(name, mode, number))",
        instead: "[...numbers, FIRST_PATH].map((number) => routeKeyOf(name, mode, number))"
      }
    ]
  },
  {
    name: "count what matches a transaction among the callbacks that match none",
    breaks: "a flood of junk keeps no genuine callback out",
    test: "test/services/settlement/UnmatchedCallbacks.test.ts",
    edits: [
      {
        file: "src/services/settlement/ProviderCallbacks.ts",
        text: "if (!Exit.isSuccess(found) || Option.isSome(found.value)) return",
        instead: "if (!Exit.isSuccess(found)) return"
      }
    ]
  },
  {
    name: "run the words of two lines together",
    breaks: "a line break divides words and numbers: no card's number is hidden behind one",
    test: "test/domain/CardNumber.test.ts",
    edits: [
      {
        file: "src/domain/VisibleText.ts",
        text: 'text.replace(DIVIDING, " ")',
        instead: 'text.replace(DIVIDING, "")'
      }
    ]
  }
]
