/** One exact text of one file, and what stands there instead. */
interface Edit {
  readonly file: string
  readonly text: string
  readonly instead: string
}

/** A mistake that somebody could make, and the run that has to notice it. */
export interface Bug {
  readonly name: string
  /** The promise that it breaks. */
  readonly breaks: string
  /** The test file that has to notice it; the simulation where none is named. */
  readonly test?: string
  readonly edits: readonly [Edit, ...ReadonlyArray<Edit>]
}

const open = "src/persistence/OpenStatement.ts"
const moves = "src/domain/Moves.ts"
const money = "src/persistence/migrations/0001_money.ts"

// Without these the database itself refuses a second entry, and the bug above it would be harmless.
const noSlots: ReadonlyArray<Edit> = [
  {
    file: money,
    text: "  at timestamptz NOT NULL,\n  PRIMARY KEY (app_id, reference, slot)\n",
    instead: "  at timestamptz NOT NULL\n"
  },
  {
    file: money,
    text: "  amount_minor bigint NOT NULL CHECK (amount_minor <> 0),\n  PRIMARY KEY (app_id, reference, slot, currency, account)\n",
    instead: "  amount_minor bigint NOT NULL CHECK (amount_minor <> 0)\n"
  }
]

const ledgerBugs: ReadonlyArray<Bug> = [
  {
    name: "skip the fence",
    breaks: "a claimant that slept past its lease opens nothing",
    edits: [
      { file: open, text: "WHEN c.fence IS DISTINCT FROM s.fence OR c.state IS DISTINCT FROM 'claimed'", instead: "WHEN false" },
      { file: open, text: "k.key = o.key AND k.fence = o.fence AND k.state = 'claimed'", instead: "k.key = o.key" }
    ]
  },
  {
    name: "decide against an old revision",
    breaks: "a decision is committed only against the record that it was made for",
    edits: [
      {
        file: "src/persistence/ApplyStatement.ts",
        text: "l.revision = s.expected_revision",
        instead: "l.revision >= s.expected_revision"
      }
    ]
  },
  {
    name: "settle twice",
    breaks: "a transaction settles once, whoever brings the news",
    edits: [
      {
        file: "src/persistence/ApplyStatement.ts",
        text: "l.revision = s.expected_revision",
        instead: "l.revision >= s.expected_revision"
      },
      ...noSlots
    ]
  },
  {
    name: "release on a timeout",
    breaks: "silence never becomes a refusal",
    edits: [
      {
        file: moves,
        text: '    NotSent: "fail",\n    Rerouted: "reroute"\n  },\n  successful',
        instead: '    NotSent: "fail",\n    Unknown: "fail",\n    Rerouted: "reroute"\n  },\n  successful'
      }
    ]
  },
  {
    name: "forget to give the reservation back",
    breaks: "a payout that failed has had its float returned",
    edits: [
      { file: moves, text: "entry: release(payout.currency, add(payout.principal, payout.heldFee))", instead: "entry: null" }
    ]
  },
  {
    name: "credit twice on a late success",
    breaks: "a collection is credited once",
    edits: [
      {
        file: moves,
        text: '  successful: { Returned: "review", Refused: "review" },\n  failed: { Succeeded: "succeed" }',
        instead:
          '  successful: { Returned: "review", Refused: "review", Succeeded: "succeed" },\n  failed: { Succeeded: "succeed" }'
      },
      ...noSlots
    ]
  },
  {
    name: "believe the amount that was asked for",
    breaks: "another amount than the stored one moves nothing by itself",
    edits: [{ file: moves, text: "(fact.amount !== null && fact.amount !== amount) ||", instead: "" }]
  },
  {
    name: "let the tenant pay a dearer fee",
    breaks: "a tenant is debited no more than was held",
    edits: [
      { file: moves, text: "fees: smaller(actualFee, payout.heldFee)", instead: "fees: actualFee" },
      {
        file: "src/domain/Ledger.ts",
        text: "const charged = actualFee < heldFee ? actualFee : heldFee\n  const excess = actualFee > heldFee ? actualFee - heldFee : 0n",
        instead: "const charged = actualFee\n  const excess = 0n"
      }
    ]
  },
  {
    name: "count no payout",
    breaks: "no more payouts in an hour than the limit",
    edits: [
      { file: open, text: "counters: step.counters.map(counterColumns)", instead: "counters: []" },
      { file: "src/services/Velocity.ts", text: "if (full !== undefined) return", instead: "if (false) return" }
    ]
  },
  {
    name: "book an exchange as it was quoted",
    breaks: "an exchange is booked as it came in",
    edits: [
      {
        file: "src/domain/ExchangeMoves.ts",
        text: "const brought = exchanged ??",
        instead: "const brought = exchanged === null ? exchanged :"
      }
    ]
  }
]

const providerBugs: ReadonlyArray<Bug> = [
  {
    name: "believe a callback",
    breaks: "a callback is only a reason to ask",
    edits: [
      {
        file: "src/services/Reconciler.ts",
        text: "        const answer = yield* answerOf(provider.value, transaction)\n",
        instead:
          '        const answer: Answer =\n          actor === "callback"\n            ? { _tag: "Succeeded", providerReference: null, amount: null, currency: null, fee: null, note: "" }\n            : yield* answerOf(provider.value, transaction)\n'
      }
    ]
  },
  {
    name: "believe every not found",
    breaks: "not found proves nothing where the question by our reference is not documented",
    edits: [
      { file: "src/services/Reconciler.ts", text: 'promises.lookup === "by_client_ref"', instead: 'promises.lookup !== "none"' }
    ]
  },
  {
    name: "believe not found at once",
    breaks: "not found proves nothing before the grace is over and it was heard often enough",
    edits: [{ file: "src/services/Reconciler.ts", text: "return documented && enough ?", instead: "return documented ?" }]
  },
  {
    name: "fail over after silence",
    breaks: "only what provably never left goes to the next provider",
    edits: [
      {
        file: "src/services/Sending.ts",
        text: 'outcome._tag === "NotSent" ? yield* reroute({ ...dispatch, offer }, outcome.note)',
        instead: 'outcome._tag === "NotSent" || outcome._tag === "Unknown" ? yield* reroute({ ...dispatch, offer }, outcome.note)'
      }
    ]
  },
  {
    name: "send test money from the live account",
    breaks: "the mode of the key decides the account",
    edits: [
      {
        file: "src/services/Routes.ts",
        text: "({ mode }: Caller, part: PartOf<Part>) =>",
        instead: '({ mode: _ }: Caller, part: PartOf<Part>, mode: Caller["mode"] = "live") =>'
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
        file: "src/services/Settlement.ts",
        text: "          event,\n          nextAskAt",
        instead: "          event: null,\n          nextAskAt"
      }
    ]
  },
  {
    name: "repeat an answer with other bytes",
    breaks: "a replay is the original answer, byte for byte",
    edits: [
      {
        file: "src/http/Idempotent.ts",
        text: "return sent(taken.answer,",
        instead: 'return sent({ ...taken.answer, body: taken.answer.body.replace(/"pending"/, \'"successful"\') },'
      }
    ]
  },
  {
    name: "ignore a lease",
    breaks: "nobody works beside a living claim",
    edits: [
      {
        file: "src/persistence/IdempotencyPg.ts",
        text: "k.lease_until <= ${iso(now)}::timestamptz AND k.fingerprint",
        instead: "k.fingerprint"
      }
    ]
  },
  {
    name: "charge a number twice at once",
    breaks: "one live charge for each number",
    edits: [{ file: "src/services/ChargeGuard.ts", text: "if (Option.isSome(earlier)) return", instead: "if (false) return" }]
  },
  {
    name: "accept a nonce again",
    breaks: "a signed request is good once, at whatever node",
    test: "test/scenarios/TwoNodes.test.ts",
    edits: [{ file: "src/persistence/NoncesPg.ts", text: "return rows.length === 1", instead: "return rows.length >= 0" }]
  }
]

export const bugs: ReadonlyArray<Bug> = [...ledgerBugs, ...providerBugs, ...clientBugs]
