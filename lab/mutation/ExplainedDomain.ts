import type { Explained } from "./Explained.ts"

const BRAND = "a brand is a type's name, and nothing of it is left when the program runs"
const QUICKER = "the same comes out, only slower or with more memory"
const OPENING = "the first line of a history opens it, and nothing is before that"

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
  "src/domain/CircuitBreaker.ts": [
    {
      original: 'circuit._tag === "Open"',
      replacement: "true",
      line: 'circuit._tag === "Closed" || (circuit._tag === "Open" && now >= circuit.until)',
      why: "for the compiler: half open it has no end, and no moment is later than that"
    }
  ],
  "src/domain/Contradiction.ts": [
    {
      original: 'record.status === "successful"',
      replacement: "true",
      why: "a ruling stands for as long as the status that it gave, and both say the same"
    },
    {
      original: 'record.kind === "collection"',
      replacement: "false",
      why: "no report of a collection names what it brought, and so more of them agree with nothing"
    },
    { original: "report !== null", replacement: "true", why: "for the compiler: null is no known report" },
    {
      original: "[]",
      replacement: '["Stryker was here"]',
      line: "const said = record.said ?? []",
      why: "what nobody says agrees with nothing"
    }
  ],
  "src/domain/Corridor.ts": [
    {
      original: "Availability.literals.indexOf(one) > Availability.literals.indexOf(other)",
      replacement: "Availability.literals.indexOf(one) >= Availability.literals.indexOf(other)",
      why: "two of one place are the same word"
    }
  ],
  "src/domain/Ids.ts": ['"AppId"', '"Reference"'].map((original) => ({ original, replacement: '""', why: BRAND })),
  "src/domain/Operator.ts": [{ original: '"OperatorName"', replacement: '""', why: BRAND }],
  "src/domain/ReconciliationDifference.ts": [
    { original: "own[0]?.lines", replacement: "own[0].lines", why: "for the compiler: a group has a first difference" },
    { original: "line === undefined", replacement: "false", why: "for the compiler: what is plain has one line" },
    {
      original: '""',
      replacement: '"Stryker was here!"',
      line: '(kind === "fee" && !isOpenedBy(record, { _tag: "FeeStated", fee: minor(BigInt(theirs ?? 0)), note: "" }))',
      why: "what a fact reported is its figures, and not its note"
    },
    {
      original: 'record.kind === "collection"',
      replacement: "true",
      line: 'return record.kind === "collection" && record.status === "successful" ? (record.observedAmount ?? record.amount) : record.amount',
      why: "for the compiler: only a collection has an observed amount"
    }
  ],
  "src/domain/ReviewReason.ts": [
    { original: "at > 0", replacement: "true", why: OPENING },
    { original: "at > 0", replacement: "at >= 0", why: OPENING },
    {
      original: "history[at - 1]?.status",
      replacement: "history[at - 1].status",
      why: "for the compiler: each line but the first has one before it"
    },
    { original: '""', replacement: '"Stryker was here!"', why: "for the compiler: each line but the first has one before it" }
  ],
  "src/domain/Routing.ts": [
    { original: "pin !== null", replacement: "true", why: "for the compiler: no provider is called null" }
  ],
  "src/domain/WebhookRetrySchedule.ts": [
    {
      original: "failed.retryAfter === null",
      replacement: "false",
      why: "for the compiler: null is neither a number of seconds nor a date"
    }
  ],
  "src/domain/ApprovalAmounts.ts": [
    { original: "amount < 0n", replacement: "amount <= 0n", why: "nothing has no sign" },
    ...[
      ['record.kind === "exchange"', "false"],
      ['"exchange"', '""']
    ].map(([original = "", replacement = ""]) => ({
      original,
      replacement,
      why: "one outcome of an exchange always posts its own amount"
    })),
    {
      original: 'outcome === "successful"',
      replacement: "true",
      why: "a collection whose fee nobody knows was not credited, so that its failure posts nothing"
    },
    { original: '""', replacement: '"Stryker was here!"', why: "evidence posts nothing" },
    ...[
      ['typeof ruling === "string"', "false"],
      ['"string"', '""'],
      ["[]", '["Stryker was here"]']
    ].map(([original = "", replacement = ""]) => ({
      original,
      replacement,
      why: "for the compiler: a text has no entry, and is no amount"
    }))
  ],
  "src/domain/Clawback.ts": [
    { original: "[]", replacement: '["Stryker was here"]', why: "what nobody says is no report of a clawback" },
    { original: "report !== null", replacement: "true", why: "for the compiler: a clawback always reports something" }
  ],
  "src/domain/ClockLeaps.ts": [
    ["first === undefined || second === undefined", "false"],
    ["first === undefined || second === undefined", "first === undefined && second === undefined"],
    ["first === undefined", "false"],
    ["second === undefined", "false"]
  ].map(([original = "", replacement = ""]) => ({
    original,
    replacement,
    why: "for the compiler: where there are more than are kept, there are two"
  })),
  "src/domain/KnownFee.ts": [
    { original: 'record.kind === "collection"', replacement: "true", why: "only a collection has a fee of its contract" }
  ],
  "src/domain/PartyIdentity.ts": [
    {
      original: String.raw`/[^\p{L}\p{N}]+/u`,
      replacement: String.raw`/[^\p{L}\p{N}]/u`,
      why: "what is between two signs is an empty word, which is left out"
    }
  ],
  "src/domain/VisibleText.ts": [{ original: "/^[ -~]*$/", replacement: "/^[ -~]$/", why: QUICKER }],
  "src/domain/Json.ts": [
    {
      original:
        'typeof tree === "number" || (typeof tree === "object" && tree !== null && Object.values(tree).some(holdsNumber))',
      replacement: "true",
      why: QUICKER
    },
    {
      original: "token.startsWith('\"')",
      replacement: "token.endsWith('\"')",
      why: "a string has a quote at both of its ends, and a number at none"
    }
  ],
  "src/domain/Masking.ts": [
    ...[
      ["!SUSPECT.test(text) || WHOLE_INSTANT.test(text)", "false"],
      ["!SUSPECT.test(text) || WHOLE_INSTANT.test(text)", "!SUSPECT.test(text) && WHOLE_INSTANT.test(text)"],
      [String.raw`/\d(?:[ ().-]{0,2}\d){6}|@/`, String.raw`/\d(?:[ ().-]{0,2}\d)|@/`],
      ["known !== undefined", "false"],
      ["kinds.size < NAMES_KEPT && name.length <= LONGEST_NAME", "true"],
      ["kinds.size < NAMES_KEPT && name.length <= LONGEST_NAME", "false"],
      ["kinds.size < NAMES_KEPT && name.length <= LONGEST_NAME", "kinds.size < NAMES_KEPT || name.length <= LONGEST_NAME"],
      ["kinds.size < NAMES_KEPT", "true"],
      ["kinds.size < NAMES_KEPT", "kinds.size <= NAMES_KEPT"],
      ["kinds.size < NAMES_KEPT", "kinds.size >= NAMES_KEPT"],
      ["name.length <= LONGEST_NAME", "true"],
      ["name.length <= LONGEST_NAME", "name.length < LONGEST_NAME"],
      ["name.length <= LONGEST_NAME", "name.length > LONGEST_NAME"],
      ["kinds.set(name, kind)", ";"],
      ["whole.length * LONGEST_CHARACTER_BYTES <= LONGEST_RAW_BYTES", "false"],
      [
        "whole.length * LONGEST_CHARACTER_BYTES <= LONGEST_RAW_BYTES",
        "whole.length * LONGEST_CHARACTER_BYTES < LONGEST_RAW_BYTES"
      ]
    ].map(([original = "", replacement = ""]) => ({ original, replacement, why: QUICKER })),
    {
      original: '""',
      replacement: '"Stryker was here!"',
      line: 'return written(tree, exact, kindOf(""), persons)',
      why: "a value without a name is of no kind, and that name is of none either"
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
  "src/domain/StringToSign.ts": [
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
    { original: "units < 0n", replacement: "units <= 0n", why: "a sum of 0 is shown as 0 in either case" },
    { original: "units > LARGEST_AMOUNT", replacement: "units >= LARGEST_AMOUNT", why: "the largest amount is shown as itself" },
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
      why: BRAND
    }
  ],
  "src/domain/PollSchedule.ts": [
    { original: "expiry === null", replacement: "false", why: "for the compiler: null is not later than now" }
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
