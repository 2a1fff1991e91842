import type { Bug } from "./Bug.ts"

const hostile = "lab/hostile/gateway/HostileGateway.long.test.ts"

/** Mistakes above the adapters, each noticed by the payments that the hostile wire plays through a whole gateway. */
export const gatewayWireBugs: ReadonlyArray<Bug> = [
  {
    name: "believe in minutes that the provider never had it",
    breaks: "nothing is failed that may be under way: not found counts only as often, and as late, as the provider documents",
    test: hostile,
    edits: [
      {
        file: "src/domain/StatusPoll.ts",
        text: "return isDocumented && enough ?",
        instead: "return isDocumented && often ?"
      }
    ]
  },
  {
    name: "ask no more about a charge that expired",
    breaks: "a charge that is paid after it expired is booked",
    test: hostile,
    edits: [{ file: "src/domain/PollSchedule.ts", text: "  expired: afterExpiry\n", instead: "  expired: []\n" }]
  },
  {
    name: "believe a callback that says success",
    breaks: "no callback settles anything: the provider is asked",
    test: hostile,
    edits: [
      {
        file: "src/services/settlement/OutcomePoller.ts",
        text: "const answer = poll.value",
        instead:
          'const answer = said.includes("successful") ? ({ ...poll.value, _tag: "Succeeded", providerReference: null, amount: null, currency: null, fee: null } as StatusOutcome) : poll.value'
      }
    ]
  },
  {
    name: "send elsewhere what may have been sent",
    breaks: "only what never left goes to the next provider",
    test: hostile,
    edits: [
      {
        file: "src/services/routing/Failover.ts",
        text: 'const next = outcome._tag === "NotSent" && !isStale',
        instead: 'const next = (outcome._tag === "NotSent" || outcome._tag === "Unknown") && !isStale'
      }
    ]
  },
  {
    name: "charge a payer again whose charge was settled",
    breaks: "a payer is not charged again right after a charge that succeeded",
    test: hostile,
    edits: [
      {
        file: "src/services/collections/ChargeGuard.ts",
        text: "if (isSure(earlier.value)) return Option.filter(earlier, mayBePaid)",
        instead: "if (isSure(earlier.value)) return Option.none()"
      }
    ]
  },
  {
    name: "book a charge each time that it is reported",
    breaks: "a success that is reported again books nothing",
    test: hostile,
    edits: [
      {
        file: "src/domain/CollectionMoves.ts",
        text: "    Succeeded: when(contradictsRecord, review, note),\n",
        instead: "    Succeeded: when(contradictsRecord, review, succeed),\n"
      }
    ]
  },
  {
    name: "let one row stop a day's reconciliation",
    breaks: "a row of a statement that cannot be read is named, and the others are compared",
    test: hostile,
    edits: [
      {
        file: "src/services/settlement/Reconciliation.ts",
        text: "const compared = yield* statement === undefined ?",
        instead:
          'if (listed.unreadable.length > 0) return yield* new NotReconciled({ message: "a row cannot be read" })\n        const compared = yield* statement === undefined ?'
      }
    ]
  },
  {
    name: "leave to nobody what polls did not settle",
    breaks: "what a day of polls did not settle is a person's",
    test: hostile,
    edits: [
      {
        file: "src/domain/PollSchedule.ts",
        text: "!isTerminal(transaction) && !transaction.needsReview && now >= reviewedAt(transaction)",
        instead: "!isTerminal(transaction) && !transaction.needsReview && now - transaction.createdAt < 0"
      }
    ]
  },
  {
    name: "credit the source of an exchange",
    breaks: "an exchange takes from one position and brings to the other",
    test: hostile,
    edits: [
      {
        file: "src/domain/ExchangeMoves.ts",
        text: "exchanged(next.currency, next.amount, next.destinationCurrency, next.destinationAmount)",
        instead: "exchanged(next.currency, next.amount, next.destinationCurrency, next.amount)"
      }
    ]
  },
  {
    name: "keep the reservation of a failed payout",
    breaks: "what failed gives its reservation back",
    test: hostile,
    edits: [
      {
        file: "src/domain/PayoutMoves.ts",
        text: "entry: release(payout.currency, add(payout.principal, payout.heldFee))",
        instead: "entry: release(payout.currency, payout.principal)"
      }
    ]
  },
  {
    name: "count each row of a wallet, however often it is listed",
    breaks: "a row that a provider repeats is one row",
    test: hostile,
    edits: [{ file: "src/providers/Rows.ts", text: "if (!rows.has(text)) rows.set(text,", instead: "rows.set(String(at)," }]
  },
  {
    name: "hear of a dispute, and not that it is lost",
    breaks: "what is taken back of a collection is a person's",
    test: hostile,
    edits: [
      {
        file: "src/domain/CollectionMoves.ts",
        text: 'return fact.state === "kept" ? !wasBooked(collection, fact) : personRuledFailed(collection)',
        instead:
          'return fact.state === "kept" ? !wasBooked(collection, fact) : fact.state === "taken" || personRuledFailed(collection)'
      }
    ]
  },
  {
    name: "take an unknown word of a dispute for its end",
    breaks: "a word that nobody knows is a person's",
    test: hostile,
    edits: [
      {
        file: "src/providers/Clawbacks.ts",
        text: 'status, state = "unknown", ...rest }: WrittenClawback',
        instead: 'status, state = "kept", ...rest }: WrittenClawback'
      }
    ]
  },
  {
    name: "take a look that read nothing for one that was made",
    breaks: "an account whose lists cannot be read is looked through again within the hour",
    test: hostile,
    edits: [
      {
        file: "src/services/settlement/ClawbackSweeps.ts",
        text: "if (read.includes(false))",
        instead: "if (read.length === 0)"
      }
    ]
  }
]
