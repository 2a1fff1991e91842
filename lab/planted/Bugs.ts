import type { Bug } from "./Bug.ts"
import { doorBugs } from "./DoorBugs.ts"
import { endpointBugs } from "./EndpointBugs.ts"
import { gatewayWireBugs } from "./GatewayWireBugs.ts"
import { holderBugs } from "./HolderBugs.ts"
import { ledgerBugs } from "./LedgerBugs.ts"
import { limitBugs } from "./LimitBugs.ts"
import { listBugs } from "./ListBugs.ts"
import { networkBugs } from "./NetworkBugs.ts"
import { routeBugs } from "./RouteBugs.ts"
import { rulingBugs } from "./RulingBugs.ts"
import { runBugs } from "./RunBugs.ts"
import { statementBugs } from "./StatementBugs.ts"
import { wireBugs } from "./WireBugs.ts"
import { wrongCodeBugs } from "./WrongCodeBugs.ts"

const providerBugs: ReadonlyArray<Bug> = [
  {
    name: "believe the callback",
    breaks: "a callback is only a reason to ask",
    edits: [
      {
        file: "src/services/settlement/OutcomePoller.ts",
        text: "      const answer = poll.value\n",
        instead:
          '      const answer: Answer =\n        actor === "callback"\n          ? { _tag: "Succeeded", providerReference: null, amount: null, currency: null, fee: null, note: "" }\n          : poll.value\n'
      }
    ]
  },
  {
    name: "believe every not found",
    breaks: "not found proves nothing where the question by our reference is not documented",
    edits: [
      {
        file: "src/services/settlement/OutcomePoller.ts",
        text: 'guarantees?.lookup === "by_client_ref"',
        instead: 'guarantees !== null && guarantees.lookup !== "none"'
      }
    ]
  },
  {
    name: "believe not found at once",
    breaks: "not found proves nothing before the grace is over and it was heard often enough",
    edits: [{ file: "src/domain/StatusPoll.ts", text: "return isDocumented && enough ?", instead: "return isDocumented ?" }]
  },
  {
    name: "open a case again for what a person knew",
    breaks: "what was known to a ruling brings the record back no more",
    test: "test/services/settlement/RepeatedAnswers.test.ts",
    edits: [{ file: "src/domain/Contradiction.ts", text: "ruling?.known.includes(report) === true", instead: 'report === ""' }]
  },
  {
    name: "count one answer twice",
    breaks: "a question counts once, however often its answer is written",
    test: "test/services/settlement/NotFoundAnswers.test.ts",
    edits: [
      { file: "src/domain/StatusPoll.ts", text: "record.asked === pollCount && record.version === version", instead: "true" }
    ]
  },
  {
    name: "trust the machine's clock",
    breaks: "leases and graces are of the database's time",
    edits: [
      {
        file: "src/persistence/connection/DatabaseClock.ts",
        text: "clockFrom(machine, now)",
        instead: "clockFrom(machine, () => machine.currentTimeNanosUnsafe())"
      }
    ]
  },
  {
    name: "fail over after silence",
    breaks: "only what provably never left goes to the next provider",
    edits: [
      {
        file: "src/services/routing/Failover.ts",
        text: 'outcome._tag === "NotSent" && !isStale ?',
        instead: '(outcome._tag === "NotSent" || outcome._tag === "Unknown") && !isStale ?'
      }
    ]
  },
  {
    name: "send test money from the live account",
    breaks: "the mode of the key decides the account",
    edits: [
      {
        file: "src/services/routing/Routes.ts",
        text: "({ mode }: Caller, operationsOf: OperationsOf<Operations>) =>",
        instead: '({ mode: _ }: Caller, operationsOf: OperationsOf<Operations>, mode: Caller["mode"] = "live") =>'
      }
    ]
  }
]

const clientBugs: ReadonlyArray<Bug> = [
  {
    name: "drop an event",
    breaks: "every change has its event in the same commit",
    edits: [
      {
        file: "src/services/settlement/Settlement.ts",
        text: "        event,\n        nextPollAt",
        instead: "        event: null,\n        nextPollAt"
      }
    ]
  },
  {
    name: "repeat an answer with other bytes",
    breaks: "a replay is the original answer, byte for byte",
    edits: [
      {
        file: "src/http/idempotency/Idempotent.ts",
        text: "httpResponse(claimed.response,",
        instead: 'httpResponse({ ...claimed.response, body: claimed.response.body.replace(/"pending"/, \'"successful"\') },'
      }
    ]
  },
  {
    name: "ignore a lease",
    breaks: "nobody works beside a living claim",
    edits: [
      {
        file: "src/persistence/schema/functions/arrive.sql",
        text: "AND k.lease_until <= EXCLUDED.created_at AND",
        instead: "AND"
      },
      {
        file: "src/persistence/schema/functions/arrive_at_once.sql",
        text: "AND k.lease_until <= EXCLUDED.created_at AND",
        instead: "AND"
      }
    ]
  },
  {
    name: "charge a number twice at once",
    breaks: "one live charge for each number",
    edits: [
      {
        file: "src/services/collections/ChargeGuard.ts",
        text: "if (Option.isSome(earlier)) return",
        instead: "if (false) return"
      }
    ]
  },
  {
    name: "lose the nonce",
    breaks: "a signed request is good once, at whatever node",
    test: "test/scenarios/failures/TwoNodes.test.ts",
    edits: [
      {
        file: "src/persistence/requests/NoncesPg.ts",
        text: "([row]) => row?.spent ?? []",
        instead: "() => steps.map(() => true)"
      }
    ]
  },
  {
    name: "lose the nonce of a money request",
    breaks: "a signed request is good once, at whatever node",
    test: "test/persistence/requests/Arrival.test.ts",
    edits: [
      {
        file: "src/persistence/schema/functions/spend_each_nonce.sql",
        text: "ON CONFLICT (app_id, key_id, nonce) DO NOTHING",
        instead: "ON CONFLICT (app_id, key_id, nonce) DO UPDATE SET expires_at = EXCLUDED.expires_at"
      }
    ]
  },
  {
    name: "refuse before the nonce is spent",
    breaks: "a signed request is good once, whatever it is answered",
    test: "test/http/Replays.test.ts",
    edits: [{ file: "src/http/edge/Edge.ts", text: "yield* inTime(nonce.settle,", instead: "yield* inTime(Effect.void," }]
  },
  {
    name: "run an operation before its nonce is spent",
    breaks: "a signed request is good once, whatever it is answered",
    test: "test/http/Replays.test.ts",
    edits: [{ file: "src/http/edge/Edge.ts", text: "if (!commitsWait && !isClaim) yield* nonce.settle", instead: "" }]
  },
  {
    name: "leave the nonce to a claim that is not made",
    breaks: "a signed request is good once, whatever it is answered",
    test: "test/http/Replays.test.ts",
    edits: [
      {
        file: "src/http/edge/Edge.ts",
        text: '  isMoneyStep(match) && valuesOf(rawHeaders, "idempotency-key").length > 0',
        instead: "  isMoneyStep(match) && rawHeaders.length > 0"
      }
    ]
  }
]

const codeBugs: ReadonlyArray<Bug> = [
  {
    name: "charge without the code",
    breaks: "a charge that needs a code moves with it only",
    edits: [
      {
        file: "src/services/collections/Collections.ts",
        text: 'corridor.customerAction === "otp" && command.otp === null',
        instead: 'corridor.customerAction === "otp" && command.otp === null && command.amount > 4_000n'
      }
    ]
  },
  {
    name: "say a code again after silence",
    breaks: "a code whose answer nobody heard is not said again",
    test: "test/scenarios/collections/CodeCrash.test.ts",
    edits: [
      {
        file: "src/persistence/requests/CodesPg.ts",
        text: 'if (codes.sent) return { _tag: codes.leased ? "Busy" : "Unheard" } satisfies CodeAttemptOutcome',
        instead: 'if (codes.sent && codes.leased) return { _tag: "Busy" } satisfies CodeAttemptOutcome'
      }
    ]
  },
  {
    name: "blame the provider for one tenant's numbers",
    breaks: "what a tenant chooses holds back no other tenant",
    test: "test/scenarios/routing/NoisyNeighbour.test.ts",
    edits: [{ file: "src/services/routing/CircuitStates.ts", text: "? null : tenant\n", instead: "? null : null\n" }]
  },
  {
    name: "hear wrong codes without end",
    breaks: "a transaction hears five wrong codes",
    test: "test/scenarios/collections/CodeFlow.test.ts",
    edits: [
      { file: "src/services/collections/ChargeDispatch.ts", text: "WRONG_CODES_AT_MOST = 5", instead: "WRONG_CODES_AT_MOST = 50" }
    ]
  },
  {
    name: "text a number without end",
    breaks: "a number is sent three codes in ten minutes",
    edits: [{ file: "src/services/collections/CodeSender.ts", text: "perNumber: 3", instead: "perNumber: 30" }]
  },
  {
    name: "take anybody's code",
    breaks: "a code is its tenant's, its mode's and its number's alone",
    test: "test/scenarios/collections/SentCodes.test.ts",
    edits: [
      {
        file: "src/persistence/requests/CodesPg.ts",
        text: "Option.map(Option.fromUndefinedOr(row), ({ account }) => account)",
        instead: "Option.some(row?.account ?? null)"
      }
    ]
  },
  {
    name: "text codes without end",
    breaks: "a tenant has so many codes texted in an hour and a day",
    test: "test/scenarios/collections/SentCodes.test.ts",
    edits: [
      {
        file: "src/persistence/requests/CodesPg.ts",
        text: "return counted.length === 1",
        instead: "return counted.length <= 1"
      }
    ]
  }
]

export const bugs: ReadonlyArray<Bug> = [
  ...ledgerBugs,
  ...providerBugs,
  ...clientBugs,
  ...codeBugs,
  ...limitBugs,
  ...endpointBugs,
  ...listBugs,
  ...runBugs,
  ...doorBugs,
  ...rulingBugs,
  ...wireBugs,
  ...networkBugs,
  ...holderBugs,
  ...statementBugs,
  ...gatewayWireBugs,
  ...wrongCodeBugs,
  ...routeBugs
]
