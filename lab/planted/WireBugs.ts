import type { Bug } from "./Bug.ts"

const hostile = "lab/hostile/HostileWire.long.test.ts"

/** Mistakes in what is made of a provider's answer that is not as its documents say. */
export const wireBugs: ReadonlyArray<Bug> = [
  {
    name: "let the other node's new token refuse a payout",
    breaks: "a token that another node ended is got anew until the nodes are out of each other's way",
    test: "test/providers/eversend/Tokens.test.ts",
    edits: [{ file: "src/providers/Tokens.ts", text: "const TOKENS_AT_MOST = 4", instead: "const TOKENS_AT_MOST = 2" }]
  },
  {
    name: "pass a row of ours over for its empty type",
    breaks: "what is empty in a row names nothing",
    test: "test/providers/eversend/Translate.test.ts",
    edits: [
      {
        file: "src/providers/eversend/Translate.ts",
        text: "(!type || type === kind)",
        instead: "(type === undefined || type === kind)"
      }
    ]
  },
  {
    name: "tell an alarm as often as it is raised",
    breaks: "one alarm of a kind in a minute",
    test: "test/observability/Logs.test.ts",
    edits: [{ file: "src/observability/Logs.ts", text: "const ALARM_LINES = 1", instead: "const ALARM_LINES = 10" }]
  },
  {
    name: "let one scheduled look fail what is never found",
    breaks: "nothing is failed that may be under way: not found counts only as often, and as late, as the provider documents",
    test: "test/domain/StatusPoll.test.ts",
    edits: [
      {
        file: "src/domain/StatusPoll.ts",
        text: "return isDocumented && enough ?",
        instead: "return often || enough ?"
      }
    ]
  },
  {
    name: "believe the refusal of a charge that went through",
    breaks: "a refusal is believed where the provider's words prove it, and nothing is found",
    test: hostile,
    edits: [
      {
        file: "src/providers/flutterwave/Translate.ts",
        text: "refused: onceNotFound(refusal(response), unprovenRefusal(response)),",
        instead: "refused: refusal(response),"
      }
    ]
  },
  {
    name: "believe a refusal without asking",
    breaks: "a refusal is believed once nothing is found by our reference",
    test: hostile,
    edits: [
      {
        file: "src/providers/mtn/Translate.ts",
        text: "return onceNotFound(refusal(response)) ??",
        instead: "return refusal(response) ??"
      }
    ]
  },
  {
    name: "believe a search at Eversend that finds nothing",
    breaks: "a refusal is believed where the provider's words prove it, and nothing is found",
    test: "test/providers/eversend/Failures.test.ts",
    edits: [
      {
        file: "src/providers/eversend/Refusals.ts",
        text: "return onceNotFound(refused, notProven(refused))",
        instead: "return onceNotFound(refused)"
      }
    ]
  },
  {
    name: "believe the first word of a failure that is to be looked at once more",
    breaks: "a failure that its provider may correct is believed when it is said again, some time later",
    test: "test/domain/StatusPoll.test.ts",
    edits: [
      {
        file: "src/domain/StatusPoll.ts",
        text: "passedAtLeast(leaps, Math.max(doubtedSince, begunAt), polledAt) >= SECOND_LOOK_MS",
        instead: "passedAtLeast(leaps, Math.max(doubtedSince, begunAt), polledAt) >= 0"
      }
    ]
  },
  {
    name: "be sure of a failure that is in doubt",
    breaks: "a failure that is believed stays in doubt until its provider is sure of it",
    test: "test/domain/StatusPoll.test.ts",
    edits: [
      {
        file: "src/domain/StatusPoll.ts",
        text: 'if (fact._tag === "Refused") return fact.isUnsure !== true',
        instead: 'if (fact._tag === "Refused") return true'
      }
    ]
  },
  {
    name: "ask no more about a payout that failed in doubt",
    breaks: "a payout whose failure is corrected hours later is found",
    test: "test/services/settlement/RepeatedAnswers.test.ts",
    edits: [
      {
        file: "src/domain/PollSchedule.ts",
        text: 'if (status === "failed" && doubtedSince !== undefined) return',
        instead: 'if (status === "failed" && doubtedSince === 0) return'
      }
    ]
  },
  {
    name: "ask no more about a payout that nobody found",
    breaks: "a payout that is found hours after it counted as never sent is heard of",
    test: "test/services/settlement/NotFoundAnswers.test.ts",
    edits: [
      {
        file: "src/domain/StatusPoll.ts",
        text: 'fact._tag === "NotSent" && poll !== null && next.kind === "payout"',
        instead: 'fact._tag === "NotSent" && poll === null && next.kind === "payout"'
      }
    ]
  },
  {
    name: "ask for packed answers",
    breaks: "an answer is asked for as it is",
    test: "test/providers/Transport.test.ts",
    edits: [{ file: "src/providers/Client.ts", text: '"accept-encoding": "identity"', instead: '"accept-encoding": "gzip"' }]
  },
  {
    name: "read packed answers as text",
    breaks: "what a machine on the way packed is read",
    test: hostile,
    edits: [
      {
        file: "src/providers/Transport.ts",
        text: 'this.#encoding = oneLine(headers["content-encoding"])',
        instead: 'this.#encoding = ""'
      }
    ]
  },
  {
    name: "take the noise of floating point for an amount",
    breaks: "19.709999999999997 is 19.71",
    test: "test/providers/WireNumber.test.ts",
    edits: [
      {
        file: "src/providers/WireNumber.ts",
        text: "digits < NOISY_DIGITS || fraction.length <= exponent",
        instead: "digits > 0 || fraction.length <= exponent"
      }
    ]
  },
  {
    name: "leave out a row that cannot be read without a word",
    breaks: "a row of a statement that cannot be read is named",
    test: "test/providers/flutterwave/Statement.test.ts",
    edits: [
      {
        file: "src/providers/Statements.ts",
        text: 'if (row !== "foreign") found.set(keyOf(row, raw), row)',
        instead: 'if (row !== "foreign" && isLine(row)) found.set(keyOf(row, raw), row)'
      }
    ]
  },
  {
    name: "believe the first reading of a list that shifts",
    breaks: "a list of several pages is read until two readings agree",
    test: "test/providers/paystack/Reference.test.ts",
    edits: [
      {
        file: "src/providers/Statements.ts",
        text: "if (first.pages === 1) return",
        instead: "if (first.pages >= 1) return"
      }
    ]
  },
  {
    name: "believe a refusal whose fault is the provider's partner's",
    breaks: "only what the provider's documents call refused ends a payment",
    test: "test/providers/paystack/Refusals.test.ts",
    edits: [
      {
        file: "src/providers/paystack/Refusals.ts",
        text: "isProven: type === OF_THE_REQUEST || (!type && said !== undefined)",
        instead: 'isProven: type !== "api_error" || (!type && said !== undefined)'
      }
    ]
  },
  {
    name: "end a charge that waits for the payer's birthday",
    breaks: "a word that asks the payer for something is not final",
    test: "test/providers/paystack/Translate.test.ts",
    edits: [
      {
        file: "src/providers/paystack/Translate.ts",
        text: 'failed: ["failed", "timeout"],',
        instead: 'failed: ["failed", "timeout", ...unanswerable],'
      }
    ]
  },
  {
    name: "take a dispute that was lost for one that is open",
    breaks: "what was taken back is told apart from what is only asked back",
    test: "test/providers/paystack/Clawbacks.test.ts",
    edits: [
      {
        file: "src/providers/paystack/Clawbacks.ts",
        text: '["resolved", "archived"].includes(status) ? resolutionState(resolution) : undefined',
        instead: '["archived"].includes(status) ? resolutionState(resolution) : "open"'
      }
    ]
  },
  {
    name: "look for the rest of an answer in an hour",
    breaks: "a process that dies between delivery and return leaves a poll that is due at once",
    test: "test/services/settlement/StatusPolls.test.ts",
    edits: [
      {
        file: "src/services/settlement/Settlement.ts",
        text: "moreFollows === true ? now : ",
        instead: ""
      }
    ]
  },
  {
    name: "let one list of disputes hide the other",
    breaks: "what one list says is heard while another cannot be read",
    test: "test/providers/paystack/Clawbacks.test.ts",
    edits: [
      {
        file: "src/providers/Clawbacks.ts",
        text: "listed: read.flatMap(Option.getOrElse((): ReadonlyArray<ListedClawback> => []))",
        instead:
          "listed: read.every(Option.isSome) ? read.flatMap(Option.getOrElse((): ReadonlyArray<ListedClawback> => [])) : []"
      }
    ]
  },
  {
    name: "take an unknown word of a dispute for one that was heard",
    breaks: "another word that nobody knows is news",
    test: "test/services/settlement/Clawbacks.test.ts",
    edits: [
      {
        file: "src/domain/Contradiction.ts",
        text: '`${what}, ${fact.reason ?? "unknown"}`',
        instead: "`${what}, unknown`"
      }
    ]
  },
  {
    name: "hear of each dispute once, whatever becomes of it",
    breaks: "a dispute that is lost after a ruling on the open one opens a review again",
    test: "test/services/settlement/Clawbacks.test.ts",
    edits: [
      {
        file: "src/domain/Clawback.ts",
        text: "known.includes(report)",
        instead: "known.some((one) => one.includes(listed.id))"
      }
    ]
  },
  {
    name: "ask a disputed charge alone, and not what is disputed of it",
    breaks: "a callback about a dispute leads to the provider's list of disputes",
    test: "test/scenarios/collections/TakenBack.test.ts",
    edits: [
      {
        file: "src/services/settlement/OutcomePoller.ts",
        text: 'isNews && (actor === "callback" || actor === "operator")',
        instead: 'isNews && actor === "operator"'
      }
    ]
  },
  {
    name: "read again the statements of a month",
    breaks: "what is taken back within 45 days is found",
    test: "test/scenarios/collections/TakenBack.test.ts",
    edits: [{ file: "src/services/settlement/ClawbackSweeps.ts", text: "[1, 3, 7, 14, 30, 45]", instead: "[1, 3, 7, 14, 30]" }]
  },
  {
    name: "let every process look through the accounts",
    breaks: "one process of several looks through an account",
    test: "test/persistence/transactions/AccountSweeps.test.ts",
    edits: [
      {
        file: "src/persistence/transactions/AccountSweepsPg.ts",
        text: "WHERE account_sweeps.next_at <=",
        instead: "WHERE account_sweeps.next_at > '2000-01-01' OR account_sweeps.next_at <="
      }
    ]
  },
  {
    name: "say that nothing was sent of what the provider has",
    breaks: "what the provider has after all is not said to be unsent",
    test: "test/domain/FailedUnsent.test.ts",
    edits: [
      {
        file: "src/domain/MoveTable.ts",
        text: "flagged(record, fact, at, foundAfterAll(record))",
        instead: "flagged(record, fact, at)"
      }
    ]
  },
  {
    name: "sign a request for any host",
    breaks: "a signed request is good for its own address alone",
    test: "test/providers/pawapay/SignedRequests.test.ts",
    edits: [
      {
        file: "src/providers/pawapay/Client.ts",
        text: '    "@authority": host,\n',
        instead: ""
      },
      {
        file: "src/providers/pawapay/Client.ts",
        text: "const { host, pathname } = new URL(url)",
        instead: "const { pathname } = new URL(url)"
      }
    ]
  },
  {
    name: "let all nodes ask again at one moment",
    breaks: "what was turned away at several nodes comes again at moments of each node's own",
    test: "test/providers/Pace.test.ts",
    edits: [
      {
        file: "src/services/settlement/OutcomePoller.ts",
        text: "return Math.round(at + jitter)",
        instead: "return Math.round(at + 0 * jitter)"
      }
    ]
  },
  {
    name: "hold the pace for requests that were refused",
    breaks: "what is refused holds no other payment back",
    test: "test/providers/Pace.test.ts",
    edits: [
      {
        file: "src/runtime/CallTurn.ts",
        text: "Effect.sync(() => turn.forget())",
        instead: "Effect.sync(() => turn.forget.name)"
      }
    ]
  },
  {
    name: "price what the network does not take",
    breaks: "a quote names no price for what a payout would be refused for",
    test: "test/scenarios/routing/NetworkLimits.test.ts",
    edits: [
      {
        file: "src/services/payouts/PayoutPricing.ts",
        text: "Effect.tap((priced) => (priced.reachesMinimum ? withinLimits(payoutRoute, payoutProvider, priced) : Effect.void))",
        instead: "Effect.tap(() => Effect.void)"
      }
    ]
  },
  {
    name: "price a payout by the country that it leaves from",
    breaks: "a payout is held the fee of the country where the money arrives",
    test: "test/providers/pawapay/Order.test.ts",
    edits: [
      {
        file: "src/providers/Quotes.ts",
        text: "destination, destinationCountry: country } = order",
        instead: "destination } = order"
      },
      {
        file: "src/providers/Quotes.ts",
        text: "const { currency, method } = corridor",
        instead: "const { country, currency, method } = corridor"
      }
    ]
  },
  {
    name: "sign with the very second that our clock shows",
    breaks: "a clock that is a few seconds ahead of pawaPay's fails no payment",
    test: "test/providers/pawapay/SignedRequests.test.ts",
    edits: [{ file: "src/providers/pawapay/Client.ts", text: "const LEEWAY_SECONDS = 5", instead: "const LEEWAY_SECONDS = 0" }]
  }
]
