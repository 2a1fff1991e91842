import type { Bug } from "./Bug.ts"

// The questions whose an account is, which a payout puts before it is made.

export const holderBugs: ReadonlyArray<Bug> = [
  {
    name: "pay a number of which its network says that it is not active",
    breaks: "nothing is sent to a number that nobody can be paid by",
    test: "test/services/payouts/PayoutPricing.test.ts",
    edits: [
      {
        file: "src/services/reference/BankAccounts.ts",
        text: 'if (found === "inactive") return yield* Effect.fail(noSuchAccount)',
        instead: 'if (found === "inactive") return null'
      }
    ]
  },
  {
    name: "take a question that is refused for an account that is not active",
    breaks: "only what the network says of an account refuses a payout",
    test: "test/providers/mtn/Holder.test.ts",
    edits: [
      {
        file: "src/providers/mtn/Reference.ts",
        text: "active?.result === false",
        instead: "active?.result !== true"
      }
    ]
  },
  {
    name: "throw the token away that money calls use, for a question that is refused",
    breaks: "no question about a holder costs what money calls need",
    test: "test/providers/mtn/Holder.test.ts",
    edits: [{ file: "src/providers/Tokens.ts", text: " || call.keepsToken === true", instead: "" }]
  },
  {
    name: "hold back balances where nobody says whose a number is",
    breaks: "no question about a holder costs what money calls need",
    test: "test/providers/mtn/Holder.test.ts",
    edits: [
      {
        file: "src/services/routing/GuardedProviders.ts",
        text: 'read("holder", holder(recipient))',
        instead: 'read("reads", holder(recipient))'
      }
    ]
  },
  {
    name: "ask every payout's question of a market that refuses it",
    breaks: "no question about a holder costs what money calls need",
    test: "test/providers/mtn/Holder.test.ts",
    edits: [
      {
        file: "src/providers/mtn/Reference.ts",
        text: "    if (isOfMarket(question, number, refused)) unsaid.set(question, yield* forAnHour)\n",
        instead: ""
      }
    ]
  },
  {
    name: "take one forbidden number for a market that answers nobody",
    breaks: "no number silences the question about the others",
    test: "test/providers/mtn/Holder.test.ts",
    edits: [
      { file: "src/providers/mtn/Reference.ts", text: "const FORBIDDEN_NUMBERS = 3", instead: "const FORBIDDEN_NUMBERS = 1" }
    ]
  },
  {
    name: "ask whose a number is before the float is looked at",
    breaks: "nobody learns about a number by a payout that cannot be made",
    test: "test/services/payouts/PayoutPricing.test.ts",
    edits: [{ file: "src/services/payouts/HolderLookups.ts", text: " || !(yield* wouldOpen)", instead: "" }]
  },
  {
    name: "ask whose a number is without end",
    breaks: "nobody learns about many numbers by payouts that are not made",
    test: "test/services/payouts/PayoutPricing.test.ts",
    edits: [
      {
        file: "src/services/payouts/HolderLookups.ts",
        text: 'if ((yield* take(bucket, UNPAID_LOOKUPS, 1))._tag === "Limited") return notAsked',
        instead: "yield* take(bucket, UNPAID_LOOKUPS, 1)"
      }
    ]
  },
  {
    name: "count the questions of payouts that were made",
    breaks: "whoever pays many is never short of questions",
    test: "test/services/payouts/PayoutPricing.test.ts",
    edits: [{ file: "src/services/payouts/Payouts.ts", text: "            yield* offer.opened\n", instead: "" }]
  }
]
