import type { Bug } from "./Bug.ts"

const WRONG_CODES = "test/scenarios/collections/WrongCodes.test.ts"

/** What a provider lists of a charge whose code it called wrong. */
export const wrongCodeBugs: ReadonlyArray<Bug> = [
  {
    name: "say another code while a charge shows",
    breaks: "a charge whose code was called wrong is not made twice",
    test: WRONG_CODES,
    edits: [
      {
        file: "src/services/collections/CodeFlow.ts",
        text: "attempted.wrong > 0 ? yield* findCharge",
        instead: "attempted.wrong < 0 ? yield* findCharge"
      }
    ]
  },
  {
    name: "refuse what an earlier authorization may have charged",
    breaks: "no terminal refusal says that nothing moved once a code was submitted",
    test: "test/scenarios/collections/CodeCrash.test.ts",
    edits: [
      {
        file: "src/services/collections/CodeFlow.ts",
        text: 'if (state === "unheard") return state',
        instead: 'if (state === "unheard") return "not placed"'
      }
    ]
  },
  {
    name: "forget a charge whose code was called wrong",
    breaks: "a payer is not charged again beside a charge whose code was called wrong, and which was made",
    test: WRONG_CODES,
    edits: [
      {
        file: "src/persistence/requests/CodesPg.ts",
        text: "SET reference = nullif(reference, ${reference})",
        instead: "SET reference = nullif(reference, ${reference}), recent = recent - ${reference}::text"
      }
    ]
  },
  {
    name: "expire unasked what was called wrong",
    breaks: "a charge whose code was called wrong expires by its provider's answer",
    test: WRONG_CODES,
    edits: [
      {
        file: "src/persistence/requests/CodesPg.ts",
        text: 'return closed.wrong ? "wrong" : "free"',
        instead: 'return "free"'
      }
    ]
  },
  {
    name: "hold a payer who mistyped a code",
    breaks: "a payer may begin anew after a wrong code",
    test: WRONG_CODES,
    edits: [
      {
        file: "src/services/collections/ChargeGuard.ts",
        text: "isAbsent && !hasCodeOnItsWay",
        instead: "isAbsent && hasCodeOnItsWay"
      }
    ]
  },
  {
    name: "spend a code that was not said",
    breaks: "a code that could not be said can be said again",
    test: WRONG_CODES,
    edits: [{ file: "src/services/collections/CodeFlow.ts", text: "yield* codes.unsaid(attempt)", instead: "yield* Effect.void" }]
  },
  {
    name: "end a charge by the attempt of a wrong code",
    breaks: "a wrong code never fails a charge, whatever its provider lists",
    test: WRONG_CODES,
    edits: [
      {
        file: "src/providers/eversend/Translate.ts",
        text: 'wrongCode === true && standingOf(status) === "failed"',
        instead: 'wrongCode === true && standingOf(status) === "successful"'
      }
    ]
  }
]
