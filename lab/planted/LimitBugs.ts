import type { Bug } from "./Bug.ts"

// What is limited: neither more than that, nor less.

export const limitBugs: ReadonlyArray<Bug> = [
  {
    name: "ask without the account's pace",
    breaks: "no more calls reach a provider than its account may make",
    test: "test/providers/Pace.test.ts",
    edits: [
      {
        file: "src/persistence/requests/RateLimitsMemory.ts",
        text: "const isTaken = wait <= longestMs",
        instead: "const isTaken = true"
      }
    ]
  },
  {
    name: "go on after a 429",
    breaks: "an account is left alone for as long as its provider says",
    test: "test/providers/Pace.test.ts",
    edits: [
      {
        file: "src/providers/Pace.ts",
        text: "      yield* close(part, leftAlone)\n",
        instead: ""
      }
    ]
  },
  {
    name: "let one address take all of the console",
    breaks: "one address holds no more of the console's connections than its share",
    test: "test/console/Connections.test.ts",
    edits: [{ file: "src/console/Console.ts", text: "{ inAll: 200, anAddress: 24 }", instead: "{ inAll: 200, anAddress: 200 }" }]
  },
  {
    name: "keep the ceiling of an account that got nothing",
    breaks: "what went to another provider does not count for the first one's account",
    test: "test/scenarios/routing/Failover.test.ts",
    edits: [
      {
        file: "src/services/routing/Failover.ts",
        text: 'if (isMoved && kind === "payout") yield*',
        instead: "if (!isMoved) yield*"
      }
    ]
  },
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
    name: "recover what is due already",
    breaks: "a recovery makes no delivery of an event that is due",
    test: "test/persistence/webhooks/WebhookDeliveries.test.ts",
    edits: [
      {
        file: "src/persistence/webhooks/EventSteps.ts",
        text: "AND d.id = p.id AND d.event_id = p.id AND d.status = 'due')",
        instead: "AND d.id = p.id AND d.event_id = p.id AND d.status = 'due' AND d.attempts = 0)"
      }
    ]
  },
  {
    name: "recover without a bound",
    breaks: "what is due to one endpoint is bounded when a recovery ends",
    test: "test/persistence/webhooks/WebhookDeliveries.test.ts",
    edits: [
      {
        file: "src/persistence/webhooks/EventSteps.ts",
        text: "ids.length, dueAtMost - (waiting?.due ?? 0)",
        instead: "ids.length, dueAtMost"
      }
    ]
  },
  {
    name: "be done with a callback that contradicts the record",
    breaks: "a callback that contradicts the record never ends silently",
    test: "test/services/settlement/LateCallbacks.test.ts",
    edits: [
      {
        file: "src/services/settlement/ProviderCallbacks.ts",
        text: "if (contradicts(record, says))",
        instead: "if (contradicts(record, says) && !isTerminal(record))"
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
    name: "add up for a cap of amounts what was asked for",
    breaks: "a cap adds up what is sent, and not less of what is deducted",
    test: "test/scenarios/requests/AmountCaps.test.ts",
    edits: [
      {
        file: "src/services/payouts/Payouts.ts",
        text: "partyHashOf(command), { currency, amount: principal })",
        instead: "partyHashOf(command), leastMoved(command))"
      }
    ]
  },
  {
    name: "share a cap of amounts among all keys",
    breaks: "a cap of a key adds up that key's amounts alone",
    test: "test/domain/AmountCaps.test.ts",
    edits: [{ file: "src/domain/AmountCaps.ts", text: "key: user.caller.keyId", instead: 'key: ""' }]
  },
  {
    name: "keep a failed payout in its cap of amounts",
    breaks: "a failed payout gives its amount back to each cap, and not one unit",
    test: "test/scenarios/requests/AmountCaps.test.ts",
    edits: [
      {
        file: "src/persistence/ledger/OpenSteps.ts",
        text: "amount: amount === 1n ? undefined : amount.toString()",
        instead: "amount: undefined"
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
    test: "test/scenarios/collections/ChargeGuard.test.ts",
    edits: [{ file: "src/services/collections/ChargeGuard.ts", text: "repeats && succeededBefore", instead: "succeededBefore" }]
  },
  {
    name: "charge a number again whose charge failed in doubt",
    breaks: "a charge that failed in words that its provider may correct stops the next one",
    test: "test/scenarios/collections/ChargeGuard.test.ts",
    edits: [
      {
        file: "src/services/collections/ChargeGuard.ts",
        text: "needsReview || doubtedSince !== undefined",
        instead: "needsReview"
      }
    ]
  },
  {
    name: "count no ceiling",
    breaks: "not more through a provider's account in a day than its ceiling",
    edits: [{ file: "src/services/admission/Velocity.ts", text: "Option.isNone(ceiling)", instead: "true" }]
  }
]
