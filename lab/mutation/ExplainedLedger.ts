import type { Explained } from "./Explained.ts"

const NAME = "the name of a span, which people read in a trace and nothing decides by"
export const TYPED = "the statement itself makes the types that this checks"
const MADE_ONCE =
  "`StepTracing.test.ts` notices it, but a histogram is made once, and here another test's statement makes it before"
const NOT_EMPTY = "for the compiler: a batch has a step"

/** Of the files in src/persistence/ledger. */
export const explainedOfLedger: Readonly<Record<string, ReadonlyArray<Explained>>> = {
  "src/persistence/ledger/FloatLedgerPg.ts": [
    ...[
      ["step !== undefined && all.length === 1", "false"],
      ["step !== undefined", "step === undefined"]
    ].map(([original = "", replacement = ""]) => ({
      original,
      replacement,
      why: "a batch of one step does the same, only slower"
    })),
    ...[
      ["step !== undefined", "true"],
      ["step?.next", "step.next"]
    ].map(([original = "", replacement = ""]) => ({ original, replacement, why: NOT_EMPTY })),
    {
      original: '""',
      replacement: '"Stryker was here!"',
      line: ': [applyStepsOfTenantCall, [step?.next.appId ?? "", ...steps.arrays(all)]]',
      why: NOT_EMPTY
    },
    { original: '"FloatLedger.positions"', replacement: '""', why: NAME },
    ...[
      ['"open"', '""'],
      ["({ transaction }) => transaction", "() => undefined"],
      ['"apply"', '""'],
      ["({ next }) => next", "() => undefined"]
    ].map(([original = "", replacement = ""]) => ({
      original,
      replacement,
      why: "what a span and a histogram say of a statement, and nothing decides by"
    })),
    ...[
      "({ transaction }) => transaction.appId",
      "({ transaction }: OpenStep) => transaction.appId",
      "({ next }) => next.appId",
      "({ next }: ApplyStep) => next.appId"
    ].map((original) => ({
      original,
      replacement: "() => undefined",
      why: "which steps share a statement changes how long they wait, and no outcome; `StepBatch.test.ts` has lanes of its own"
    })),
    ...['result._tag !== "ClaimLost"', 'result._tag !== "Stale"'].map((original) => ({
      original,
      replacement: "false",
      why: "a step with any other result has no row of its own to be found by"
    })),
    ...[
      [
        `{
  verdict: Schema.Literals(["Opened", "ClaimLost", "Frozen", "PayerBusy", "OverCap", "ShortFloat"]),
  failed_window: Schema.Number,
  reservable: Schema.BigInt
}`,
        "{}"
      ],
      ['"Opened"', '""'],
      ["{ applied: Schema.Boolean }", "{}"]
    ].map(([original = "", replacement = ""]) => ({
      original,
      replacement,
      why: "an answer that cannot be read is one that was lost: what was committed is found by its own row"
    }))
  ],
  "src/persistence/ledger/FloatEntriesPg.ts": [
    ...['"FloatEntries.list"', '"FloatEntries.adjustment"'].map((original) => ({ original, replacement: '""', why: NAME })),
    {
      original: "from === null",
      replacement: "false",
      why: "null is read as the beginning of 1970, and nothing was posted before"
    },
    {
      original: "now === undefined",
      replacement: "false",
      why: "a float without a position has no entries, which a search finds, too, only slower"
    },
    { original: "start <= 0", replacement: "start < 0", why: "one more step back, which finds nothing: the same comes out" },
    { original: "last !== undefined", replacement: "true", why: "for the compiler: a page that is full has an entry" },
    {
      original: "(yield* Clock.currentTimeMillis) - began > LOOK_FOR_MS",
      replacement: "(yield* Clock.currentTimeMillis) - began >= LOOK_FOR_MS",
      why: "a millisecond more or less of four seconds"
    }
  ],
  "src/persistence/ledger/LedgerVerificationPg.ts": [
    { original: '"LedgerVerification.verify"', replacement: '""', why: NAME },
    { original: "answer?.[0]?.count", replacement: "answer?.[0].count", why: "for the compiler: a count gives one row" },
    { original: "{ count: Schema.BigInt }", replacement: "{}", why: TYPED }
  ],
  "src/persistence/ledger/VerificationSteps.ts": [
    {
      original: "boundMs + ANSWER_MS",
      replacement: "boundMs - ANSWER_MS",
      why: "three seconds of an hour or a day, after which either side ends the statement"
    },
    { original: "{ subject: Schema.String, found: Schema.String }", replacement: "{}", why: TYPED }
  ],
  "src/persistence/ledger/ManualEntries.ts": [
    ...['"FloatLedger.adjust"', '"FloatLedger.resolve"'].map((original) => ({ original, replacement: '""', why: NAME })),
    ...[
      ["row === undefined", "false"],
      ['"a float position vanished"', '""'],
      ["{ available: 0n, receivable: 0n }", "{}"]
    ].map(([original = "", replacement = ""]) => ({
      original,
      replacement,
      why: "for the compiler: each position is made and locked before it is read"
    })),
    ...[
      ["locked?.revision", "locked.revision"],
      ["result?._tag", "result._tag"]
    ].map(([original = "", replacement = ""]) => ({
      original,
      replacement,
      why: "for the compiler: the transaction was read before and is never deleted, and one step has one result"
    })),
    { original: "a < b", replacement: "a <= b", why: "no two postings of an entry are equal" },
    ...[
      `{
  currency: Currency,
  available_minor: Schema.BigInt,
  reserved_minor: Schema.BigInt,
  collected_minor: Schema.BigInt,
  paid_out_minor: Schema.BigInt,
  provider_fees_minor: Schema.BigInt,
  credited_minor: Schema.BigInt,
  debited_minor: Schema.BigInt,
  fx_in_minor: Schema.BigInt,
  fx_out_minor: Schema.BigInt,
  returned_minor: Schema.BigInt,
  receivable_minor: Schema.BigInt
}`,
      "{ slots: Schema.Array(Schema.String), revision: Schema.BigInt }"
    ].map((original) => ({ original, replacement: "{}", why: TYPED }))
  ],
  "src/persistence/ledger/OpenSteps.ts": [
    ...[
      '[appId, mode, Buffer.from(partyHash ?? []).toString("hex")].join("|")',
      'const party = Buffer.from(partyHash ?? []).toString("hex")'
    ].map((line) => ({
      original: "[]",
      replacement: '["Stryker was here"]',
      line,
      why: "for the compiler: a payer that is guarded has a hash, and without one no window is of the party"
    })),
    { original: '"|"', replacement: '""', why: "all that follows the tenant in such a key has one length" },
    { original: "a.key < b.key", replacement: "a.key <= b.key", why: "windows with one key are the same window" },
    { original: "step !== undefined", replacement: "true", why: NOT_EMPTY },
    { original: "step?.transaction", replacement: "step.transaction", why: NOT_EMPTY },
    {
      original: '""',
      replacement: '"Stryker was here!"',
      line: ': [openStepsOfTenantCall, [step?.transaction.appId ?? "", ...batchParameters(all)]]',
      why: NOT_EMPTY
    }
  ],
  "src/persistence/ledger/StepTracing.ts": [
    { original: '"gateway_money_step_batch_size"', replacement: '""', why: MADE_ONCE },
    { original: '"How many money steps one statement held."', replacement: '""', why: MADE_ONCE },
    { original: "[1, 2, 4, 8, 16, 32, 64, 128, 256]", replacement: "[]", why: MADE_ONCE }
  ]
}
