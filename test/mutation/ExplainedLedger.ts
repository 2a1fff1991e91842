import type { Explained } from "./Explained.ts"

const NAME = "the name of a span, which people read in a trace and nothing decides by"
const NOT_EMPTY = "for the compiler: a batch has a step"

/** How the statement of a batch is chosen, or that of a step which is alone. */
const chosen = (step: string): ReadonlyArray<Explained> => [
  {
    original: "step !== undefined && all.length === 1",
    replacement: "false",
    why: "a batch of one step does the same, only slower"
  },
  { original: "step !== undefined", replacement: "true", why: NOT_EMPTY },
  { original: "step !== undefined", replacement: "step === undefined", why: "a batch of one step does the same, only slower" },
  { original: `step?.${step}`, replacement: `step.${step}`, why: NOT_EMPTY },
  {
    original: '""',
    replacement: '"Stryker was here!"',
    why: NOT_EMPTY,
    line: `: [${step === "next" ? "apply" : "open"}StepsOfTenantCall, [step?.${step}.appId ?? "", ...${step === "next" ? "steps.arrays" : "batchParameters"}(all)]]`
  }
]

/** Of the files in src/persistence/ledger. */
export const explainedOfLedger: Readonly<Record<string, ReadonlyArray<Explained>>> = {
  "src/persistence/ledger/ApplySteps.ts": chosen("next"),
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
  "src/persistence/ledger/FloatLedgerPg.ts": [
    {
      original: '"FloatLedger.positions"',
      replacement: '""',
      why: "the name of a span, which people read in a trace and nothing decides by"
    },
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
  ]
}
