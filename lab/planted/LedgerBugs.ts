import { accountBugs } from "./AccountBugs.ts"
import type { Bug, Edit } from "./Bug.ts"
import { consoleBugs } from "./ConsoleBugs.ts"
import { moneyCallBugs } from "./MoneyCallBugs.ts"
import { moneyFunctionBugs } from "./MoneyFunctionBugs.ts"

const openStep = "src/persistence/schema/functions/open_step.sql"
const openSteps = "src/persistence/schema/functions/open_steps.sql"
const applyStep = "src/persistence/schema/functions/apply_step.sql"
const applySteps = "src/persistence/schema/functions/apply_steps.sql"
const payoutMoves = "src/domain/PayoutMoves.ts"

// Without these the function itself refuses a second entry, and the bug above it would be harmless.
const noSlots: ReadonlyArray<Edit> = [
  { file: applyStep, text: "IF t.posted_before THEN", instead: "IF false THEN" },
  { file: applySteps, text: "IF r.posted THEN", instead: "IF false THEN" }
]
const anyRevision: readonly [Edit, ...ReadonlyArray<Edit>] = [
  { file: applyStep, text: "AND revision = p_expected_revision", instead: "AND revision >= p_expected_revision" },
  { file: applySteps, text: "t.revision = s.expected_revision", instead: "t.revision >= s.expected_revision" }
]

const moveBugs: ReadonlyArray<Bug> = [
  {
    // The stories do not see it: a key's reference stops a second transaction before its fence would.
    name: "skip the fence",
    breaks: "a claimant that slept past its lease opens nothing",
    test: "test/persistence/ledger/FloatLedger.test.ts",
    edits: [
      { file: openStep, text: "AND k.fence = p_fence AND k.state = 'claimed'", instead: "" },
      { file: openSteps, text: "WHERE k.fence = s.fence AND k.state = 'claimed'", instead: "" },
      {
        file: openSteps,
        text: "AND k.key = s.key AND k.fence = s.fence\n    AND k.state = 'claimed' /*+",
        instead: "AND k.key = s.key /*+"
      }
    ]
  },
  {
    name: "decide against an old revision",
    breaks: "a decision is committed only against the record that it was made for",
    edits: anyRevision
  },
  {
    name: "settle twice",
    breaks: "a transaction settles once, whoever brings the news",
    edits: [...anyRevision, ...noSlots]
  },
  {
    name: "release on timeout",
    breaks: "silence never becomes a refusal",
    edits: [
      {
        file: payoutMoves,
        text: "    NotSent: when(hasHandle, note, fail),\n",
        instead: "    NotSent: when(hasHandle, note, fail),\n    Unknown: fail,\n"
      }
    ]
  },
  {
    name: "forget to give the reservation back",
    breaks: "a payout that failed has had its float returned",
    edits: [
      {
        file: payoutMoves,
        text: "entry: release(payout.currency, add(payout.principal, payout.heldFee))",
        instead: "entry: null"
      }
    ]
  },
  {
    name: "credit twice on a late success",
    breaks: "a collection is credited once",
    edits: [
      {
        file: "src/domain/CollectionMoves.ts",
        text: "    Succeeded: when(contradictsRecord, review, note)",
        instead: "    Succeeded: succeed"
      },
      ...noSlots
    ]
  },
  {
    name: "believe the amount that was asked for",
    breaks: "another amount than the stored one moves nothing by itself",
    edits: [{ file: "src/domain/Contradiction.ts", text: "(fact.amount !== null && fact.amount !== amount) ||", instead: "" }]
  },
  {
    name: "let the tenant pay a dearer fee",
    breaks: "a tenant is debited no more than was held",
    edits: [
      { file: payoutMoves, text: "fees: smaller(actualFee, payout.heldFee)", instead: "fees: actualFee" },
      {
        file: "src/domain/Ledger.ts",
        text: "const charged = smaller(actualFee, heldFee)\n  const excess = minusOrZero(actualFee, heldFee)",
        instead: "const charged = actualFee\n  const excess = 0n"
      }
    ]
  },
  {
    name: "count no payout",
    breaks: "no more payouts in an hour than the limit",
    edits: [
      {
        file: "src/services/admission/Velocity.ts",
        text: "...effectiveLimits(mode, direction, own).map((limit) => windowUse(appId, limit, party, at)),",
        instead: ""
      }
    ]
  },
  {
    name: "book an exchange as it was quoted",
    breaks: "an exchange is booked as it came in",
    edits: [
      {
        file: "src/domain/ExchangeMoves.ts",
        text: "return exchanged ??",
        instead: "return exchanged === null ? exchanged :"
      }
    ]
  }
]

const historyDigest = "src/persistence/transactions/HistoryDigest.ts"
const ofHistoryDigest = "test/persistence/transactions/HistoryDigest.test.ts"

const digestBugs: ReadonlyArray<Bug> = [
  {
    name: "count lines that another release wrote without a digest",
    breaks: "a step of the release before raises no alarm of ledger verify",
    test: ofHistoryDigest,
    edits: [
      {
        file: historyDigest,
        text: "  if (digest.to === revision) return digest\n",
        instead: "  return { ...digest, to: revision }\n"
      }
    ]
  },
  {
    name: "forget what a provider called a record before",
    breaks: "ledger verify finds a provider's reference that no step wrote, and no other",
    test: ofHistoryDigest,
    edits: [{ file: historyDigest, text: "const isRenamed = was !== null &&", instead: "const isRenamed = was === null &&" }]
  },
  {
    name: "leave a line's words out of ledger verify",
    breaks: "ledger verify finds a line of the history that was changed",
    test: ofHistoryDigest,
    edits: [
      {
        file: "src/persistence/ledger/rules/DigestRules.ts",
        text: "WHERE found IS DISTINCT FROM",
        instead: "WHERE found IS NULL AND found IS DISTINCT FROM"
      }
    ]
  },
  {
    name: "look only at keys near their record",
    breaks: "ledger verify finds in stretches of time what it finds in everything at once",
    test: "test/persistence/ledger/LedgerStretches.test.ts",
    edits: [
      {
        file: "src/persistence/ledger/LedgerChanges.ts",
        text: "(query) => `${query} UNION ${ofFarKeys}`",
        instead: "(query) => `${query} UNION ${ofFarKeys} WHERE false`"
      }
    ]
  }
]

export const ledgerBugs: ReadonlyArray<Bug> = [
  ...moveBugs,
  ...moneyFunctionBugs,
  ...moneyCallBugs,
  ...accountBugs,
  ...consoleBugs,
  ...digestBugs
]
