import type { Explained } from "./Explained.ts"

/** Of the files in src/domain. */
export const explainedOfDomain: Readonly<Record<string, ReadonlyArray<Explained>>> = {
  "src/domain/ExchangeMoves.ts": [
    { original: "brought > quoted", replacement: "brought >= quoted", why: "two equal amounts are not apart in either case" }
  ],
  "src/domain/CardNumber.ts": [
    {
      original: "total + (at % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2)",
      replacement: "total - (at % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2)",
      why: "a sum and the same below zero are multiples of ten together"
    }
  ],
  "src/domain/Denylist.ts": [
    {
      original: "/[^\\p{L}\\p{N}]+/u",
      replacement: "/[^\\p{L}\\p{N}]/u",
      why: "what is between two signs is empty, and no word"
    }
  ],
  "src/domain/Instant.ts": [
    {
      original: String.raw`/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z$/`,
      replacement: String.raw`/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z$/`,
      why: "with something before it, it does not begin as its moment is written"
    },
    {
      original: String.raw`/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z$/`,
      replacement: String.raw`/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z/`,
      why: "the language reads no moment where something is behind the Z"
    }
  ],
  "src/domain/Msisdn.ts": [
    { original: "digits === undefined", replacement: "false", why: "for the compiler: a text without digits is no number either" }
  ],
  "src/domain/Ledger.ts": [
    { original: "amount < 0n", replacement: "amount <= 0n", why: "no posting is of nothing: `postingsOf` leaves it out" },
    { original: "short < 0n", replacement: "short <= 0n", why: "where nothing is short, nothing is owed in either case" },
    { original: "amount < receivable", replacement: "amount <= receivable", why: "of two equal amounts either is the smaller" }
  ],
  "src/domain/CanonicalText.ts": [
    {
      original: "{\n    return undefined\n  }",
      replacement: "{}",
      why: "a function that ends without a value gives undefined, too"
    },
    ...[
      [
        "appId === undefined || keyId === undefined || apiKey === undefined",
        "(appId === undefined || keyId === undefined) && apiKey === undefined"
      ],
      ["appId === undefined || keyId === undefined", "appId === undefined && keyId === undefined"],
      ["appId === undefined || keyId === undefined", "false"],
      ["appId === undefined", "false"],
      ["keyId === undefined", "false"],
      ["apiKey === undefined", "false"]
    ].map(([original = "", replacement = ""]) => ({
      original,
      replacement,
      why: "a key that matched has all three parts, and any other has none"
    })),
    {
      original: "[]",
      replacement: '["Stryker was here"]',
      line: "const [, appId, keyId, apiKey] = KEY_HEADER.exec(text) ?? []",
      why: "the first of them is not read"
    }
  ],
  "src/domain/Money.ts": [
    { original: "a > b", replacement: "a >= b", why: "of two equal amounts nothing is left in either case" },
    {
      original: '"0"',
      replacement: '""',
      line: 'const [, whole = "0", fraction = ""] = match',
      why: "a decimal that matched has its whole part"
    },
    { original: "a < b", replacement: "a <= b", why: "of two equal amounts either is the smaller" },
    {
      original: '"MinorUnits"',
      replacement: '""',
      why: "a brand is a type's name, and nothing of it is left when the program runs"
    }
  ],
  "src/domain/PollSchedule.ts": [
    { original: "expiry === null", replacement: "false", why: "for the compiler: null is not later than now" },
    {
      original: 'transaction.kind === "payout"',
      replacement: "true",
      why: "only a payout has a principal: of anything else no part is missing"
    }
  ],
  "src/domain/DeductedFee.ts": [
    { original: "net > least", replacement: "net >= least", why: "of two equal amounts either is the larger" }
  ],
  "src/domain/SourceAmount.ts": [
    {
      original: '""',
      replacement: '"Stryker was here!"',
      line: 'const [whole = "", fraction = ""] = rawDestinationAmount.split(".")',
      why: "the first part of a split text is always there; the second one has its test"
    },
    { original: "a < b", replacement: "a <= b", why: "of two equal amounts either is the smaller" }
  ]
}
