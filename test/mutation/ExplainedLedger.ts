import type { Explained } from "./Explained.ts"

/** Of the files in src/persistence/ledger. */
export const explainedOfLedger: Readonly<Record<string, ReadonlyArray<Explained>>> = {
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
