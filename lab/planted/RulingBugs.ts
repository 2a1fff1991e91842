import type { Bug } from "./Bug.ts"

/** What is booked of a provider's word or a person's, and what its tenant is told of it. */
export const rulingBugs: ReadonlyArray<Bug> = [
  {
    name: "credit a collection gross",
    breaks: "a collection is booked net of its fee, or not at all",
    test: "test/domain/CollectionMoves.test.ts",
    edits: [
      {
        file: "src/domain/CollectionMoves.ts",
        text: "fact.fee === null ? unpriced(collection, fact, origin) : succeed(collection, { ...fact, fee: fact.fee }, origin)",
        instead:
          "fact.fee === 0n ? unpriced(collection, fact, origin) : succeed(collection, { ...fact, fee: fact.fee ?? ZERO }, origin)"
      }
    ]
  },
  {
    name: "tell nobody that a charge which was closed succeeded at a fee that nobody knows",
    breaks: "no money that came in is without a case or a credit",
    test: "test/scenarios/operators/Rulings.test.ts",
    edits: [
      {
        file: "src/domain/CollectionMoves.ts",
        text: "    Succeeded: when(isAPersons, reviewObserved, succeedOr(reviewObserved)),\n",
        instead: "    Succeeded: when(isAPersons, reviewObserved, succeedOr(note)),\n"
      }
    ]
  },
  {
    name: "lose the handle of a charge that is paid at once",
    breaks: "what a provider took is never lost for a figure that it does not name yet",
    test: "test/providers/eversend/Answers.test.ts",
    edits: [
      {
        file: "src/providers/eversend/Translate.ts",
        text: 'isPaid ? { ...wire, status: "pending" } : wire',
        instead: "wire"
      }
    ]
  },
  {
    name: "give back a fee that stays",
    breaks: "the fee comes back only where the contract says so",
    test: "test/providers/FeeSchedule.test.ts",
    edits: [{ file: "src/domain/PayoutMoves.ts", text: "payout.feeReturns === true && ", instead: "" }]
  },
  {
    name: "price by the least specific entry",
    breaks: "a fee is that of the entry that says most of the payment",
    test: "test/providers/FeeSchedule.test.ts",
    edits: [{ file: "src/providers/ContractFees.ts", text: "saysOf(b) - saysOf(a)", instead: "saysOf(a) - saysOf(b)" }]
  },
  {
    name: "forget the fee that was kept of a reversal",
    breaks: "a correction starts from what stands booked",
    test: "test/domain/ResolutionFigures.test.ts",
    edits: [
      {
        file: "src/domain/Resolution.ts",
        text: "fees: minusOrZero(reversed.amount, minusOrZero(collected, fees))",
        instead: "fees: ZERO"
      }
    ]
  },
  {
    name: "rule on a fee without a bound",
    breaks: "a ruling books no fee of some digits too many",
    test: "test/domain/ResolutionFigures.test.ts",
    edits: [{ file: "src/domain/Resolution.ts", text: "resolution.fee !== null && resolution.fee > most", instead: "false" }]
  },
  {
    name: "end a callback that nobody signed with the case",
    breaks: "a contradiction that stands in no history is never dropped in silence",
    test: "test/services/settlement/LateCallbacks.test.ts",
    edits: [
      {
        file: "src/services/settlement/ProviderCallbacks.ts",
        text: "record.needsReview && (isAuthenticated(callback) || !contradicts(record, says))",
        instead: "record.needsReview"
      }
    ]
  },
  {
    name: "take a handle for the right party",
    breaks: "another body under a forgotten key is never booked as the first one's outcome",
    test: "test/services/settlement/StatusPolls.test.ts",
    edits: [
      {
        file: "src/services/settlement/ProviderQuestion.ts",
        text: 'record.providerReference !== null && clientReference !== "idempotent"',
        instead: "record.providerReference !== null"
      }
    ]
  },
  {
    name: "change a record and tell nobody",
    breaks: "no record changes without its event",
    test: "test/domain/Telling.test.ts",
    edits: [
      {
        file: "src/domain/Event.ts",
        text: "named ?? (next.version === before.version ? null : updates[next.kind])",
        instead: "named"
      }
    ]
  },
  {
    name: "invent a fee for a ruling",
    breaks: "a ruling books no fee that nobody named",
    test: "test/domain/ResolutionFigures.test.ts",
    edits: [
      {
        file: "src/domain/Resolution.ts",
        text: "knownFee(collection, amount)",
        instead: "(knownFee(collection, amount) ?? ZERO)"
      }
    ]
  },
  {
    name: "write event types that the release before does not know",
    breaks: "a node of the release before claims deliveries beside this one, and holds nobody up",
    test: "test/scenarios/operators/Rulings.test.ts",
    edits: [
      {
        file: "src/persistence/ledger/StepColumns.ts",
        text: "storedType(event.type)",
        instead: "event.type"
      }
    ]
  },
  {
    name: "keep newer event types from endpoints with the default",
    breaks: "an endpoint that has the default gets what a release adds to the default",
    test: "test/persistence/webhooks/WebhookEndpoints.test.ts",
    edits: [
      {
        file: "src/persistence/transactions/NewerEventTypes.ts",
        text: "THEN ${arrayOf(defaultSubscription)}",
        instead: "THEN ${row}events"
      }
    ]
  },
  {
    name: "give every correction the same place",
    breaks: "each case of a record has a correction of its own",
    test: "test/persistence/ledger/FloatResolutions.test.ts",
    edits: [
      {
        file: "src/domain/Ledger.ts",
        text: "return earlier === 0 ? entry : { ...entry, number: earlier + 1 }",
        instead: "return earlier === 0 ? entry : { ...entry, number: 1 }"
      }
    ]
  },
  {
    name: "take a won dispute for what was known",
    breaks: "a success after a return, or a return after a success, opens a case",
    test: "test/scenarios/operators/Rulings.test.ts",
    edits: [
      {
        file: "src/domain/Contradiction.ts",
        text: "[...reports].filter((report) => !isTakenBack(report))",
        instead: "[...reports].filter((report) => !isTakenBack(report) || reports.has(report))"
      }
    ]
  },
  {
    name: "leave out what a ruling said that came back",
    breaks: "the float has what really happened, however often a record is ruled on",
    test: "test/domain/RulingSequences.test.ts",
    edits: [
      {
        file: "src/domain/Resolution.ts",
        text: "returned: back - (payout.returned?.amount ?? ZERO),",
        instead: "returned: 0n,"
      }
    ]
  },
  {
    name: "leave the fee out of an earlier reversal",
    breaks: "what an earlier release reversed says what its entries say",
    test: "test/persistence/ledger/Corrections.test.ts",
    edits: [
      {
        file: "src/persistence/schema/migrations/0025_corrections.sql",
        text: "'amount', (collected - fee)::text",
        instead: "'amount', collected::text"
      }
    ]
  },
  {
    name: "let one person rule on what only the provider saw",
    breaks: "the largest amount that either outcome would post decides whether a ruling takes two people",
    test: "test/domain/ApprovalAmounts.test.ts",
    edits: [
      {
        file: "src/domain/ApprovalAmounts.ts",
        text: 'plain(record, "successful"), plain(record, "failed")',
        instead: 'plain(record, "failed")'
      }
    ]
  },
  {
    name: "let the charge's own word take back what a list said",
    breaks: "a dispute that a person waits for is no news each time that its charge says that it succeeded",
    test: "test/services/settlement/Clawbacks.test.ts",
    edits: [
      {
        file: "src/domain/Contradiction.ts",
        text: "agrees(known) || isListed(known)",
        instead: 'agrees(known) || (isListed(known) && record.status !== "successful")'
      }
    ]
  },
  {
    name: "forget that a ruling booked less while a dispute was open",
    breaks: "what a person booked before a dispute was won is a person's again",
    test: "test/domain/Clawback.test.ts",
    edits: [
      {
        file: "src/domain/Contradiction.ts",
        text: "(found !== null && found < movedBy(record, null)) ||",
        instead: "(found !== null && found < ZERO) ||"
      }
    ]
  },
  {
    name: "never hear that a lost dispute was won after all",
    breaks: "what a dispute took and gave back is a person's",
    test: "test/services/settlement/Clawbacks.test.ts",
    edits: [
      {
        file: "src/domain/Clawback.ts",
        text: 'if (personRuledFailed(record) && !(listed.state === "kept" && wasBooked(record, listed))) return true',
        instead: "if (personRuledFailed(record)) return true"
      }
    ]
  }
]
