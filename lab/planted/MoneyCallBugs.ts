import type { Bug } from "./Bug.ts"
import { durabilityBugs } from "./DurabilityBugs.ts"

// Mistakes in what calls the functions of the database that move money, and in the arrival of the requests that do.

const arrival = "src/persistence/schema/functions/arrive.sql"
const together = "src/persistence/schema/functions/arrive_at_once.sql"
const references = "src/persistence/requests/IdempotencyPg.ts"
const openCall = "src/persistence/ledger/OpenSteps.ts"
const ledger = "src/persistence/ledger/FloatLedgerPg.ts"

const arrivals = "test/persistence/requests/Arrival.test.ts"
const keys = "test/persistence/requests/Idempotency.test.ts"
const bothModes = "test/persistence/ledger/BatchModes.test.ts"
const lost = "test/persistence/ledger/LostAnswers.test.ts"

const arriving: ReadonlyArray<Bug> = [
  {
    name: "give a nonce back where the key is taken",
    breaks: "a signed request is good once, whatever it is answered",
    test: arrivals,
    edits: [
      {
        file: arrival,
        text: "IF fence IS NULL THEN",
        instead: "IF fence IS NULL THEN DELETE FROM nonces n WHERE n.app_id = p_app_id;"
      }
    ]
  },
  {
    name: "take a key from a live request",
    breaks: "a key has one claimant at a time",
    test: arrivals,
    edits: [
      { file: arrival, text: "AND k.lease_until <= EXCLUDED.created_at", instead: "" },
      { file: together, text: "AND k.lease_until <= EXCLUDED.created_at", instead: "" }
    ]
  },
  {
    name: "take a key over for another request",
    breaks: "a key belongs to the request that used it first",
    test: arrivals,
    edits: [
      { file: arrival, text: "AND k.fingerprint = EXCLUDED.fingerprint", instead: "" },
      { file: together, text: "AND k.fingerprint = EXCLUDED.fingerprint", instead: "" }
    ]
  },
  {
    name: "make a new reference for each claim of a key",
    breaks: "a repeat that a restore forgot reaches the provider under the reference that it knows",
    test: keys,
    edits: [{ file: references, text: "referenceOfKey(hash, scope, 0)", instead: "referenceOfKey(hash, scope, Math.random())" }]
  },
  {
    name: "pay again what operators booked after a restore",
    breaks: "what is booked by its reference does not run again",
    test: keys,
    edits: [{ file: references, text: "booked: row.booked === true,", instead: "booked: false," }]
  },
  {
    name: "believe what the provider says of another request by the reference",
    breaks: "another body under a forgotten key is never booked",
    test: "test/domain/PayoutMoves.test.ts",
    edits: [{ file: "src/domain/Moves.ts", text: "if (record.ofAnother === true) return unchanged(record)", instead: "" }]
  }
]

const calling: ReadonlyArray<Bug> = [
  {
    name: "hold test money of live float",
    breaks: "the modes share nothing",
    test: bothModes,
    edits: [{ file: openCall, text: "[appId, mode, currency].join", instead: "[appId, currency].join" }]
  },
  {
    name: "count test payouts in live windows",
    breaks: "the modes share nothing",
    test: bothModes,
    edits: [{ file: openCall, text: "[appId, mode, name, subject,", instead: "[appId, name, subject," }]
  },
  {
    name: "lock windows in the order in which a step names them",
    breaks: "steps that lock the same rows wait for each other and never in a circle",
    test: "test/persistence/ledger/StepLocks.test.ts",
    edits: [{ file: openCall, text: "a.key < b.key ? -1 : 1", instead: "a.place - b.place" }]
  },
  {
    name: "take a live payer for a test one",
    breaks: "the modes share nothing",
    test: bothModes,
    edits: [{ file: openCall, text: "[appId, mode, Buffer.from", instead: "[appId, Buffer.from" }]
  },
  {
    name: "take another decision for one's own",
    breaks: "a decision whose commit was lost is recognised by all of it",
    test: lost,
    edits: [{ file: ledger, text: "AND at = ${iso(line.at)}::timestamptz", instead: "" }]
  },
  {
    name: "open again after a lost answer",
    breaks: "a payout whose commit was lost is recognised",
    test: lost,
    edits: [
      {
        file: ledger,
        text: "recover: recoverOpen(sql, onTenantServer)",
        instead: "recover: (_, result) => Effect.succeed(result)"
      }
    ]
  }
]

export const moneyCallBugs: ReadonlyArray<Bug> = [
  ...arriving,
  ...calling,
  ...durabilityBugs,
  {
    name: "send MTN an ampersand",
    breaks: "a note to a person never stops a payment",
    test: "test/providers/ProviderText.test.ts",
    edits: [
      {
        file: "src/providers/mtn/Order.ts",
        text: 'punctuation: ".-"',
        instead: 'punctuation: ".-&"'
      }
    ]
  },
  {
    name: "cut a text within a character",
    breaks: "no provider gets half a character",
    test: "test/providers/ProviderText.test.ts",
    edits: [
      {
        file: "src/providers/ProviderText.ts",
        text: 'Array.from(words).slice(0, rule.atMost).join("")',
        instead: "words.slice(0, rule.atMost)"
      }
    ]
  }
]
