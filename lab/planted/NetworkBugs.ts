import type { Bug } from "./Bug.ts"

const branches = "test/providers/CountryBranches.test.ts"
const guarantees = "test/providers/Guarantees.test.ts"
const airtel = "test/providers/airtel/Translate.test.ts"
const daraja = "test/providers/daraja/Adapter.test.ts"
const wave = "test/providers/wave/Adapter.test.ts"

/** Mistakes in the adapters of the networks that the gateway speaks to itself: Airtel, M-Pesa and Wave. */
export const networkBugs: ReadonlyArray<Bug> = [
  {
    name: "send to an account of another currency",
    breaks: "an order goes only to an account of its country and its currency",
    test: branches,
    edits: [
      {
        file: "src/providers/CountryBranches.ts",
        text: 'if (currency !== account.currency) return "no account in this currency"',
        instead: ""
      }
    ]
  },
  {
    name: "ask an account of another currency about a payment",
    breaks: "what an account never had is no proof that nothing moved",
    test: branches,
    edits: [
      {
        file: "src/providers/CountryBranches.ts",
        text: "branch !== undefined && branch.account.currency === order.currency",
        instead: "branch !== undefined"
      }
    ]
  },
  {
    name: "refuse a payout at Airtel by a code that says nothing",
    breaks: "a code by which nobody knows what became of a payment refuses nothing",
    test: airtel,
    edits: [
      {
        file: "src/providers/airtel/Refusals.ts",
        text: '...is(refusedUnsaid, "DP00800001008",',
        instead: '...is(refusedUnsaid, "DP00900001000", "DP00800001024", "DP00800001008",'
      }
    ]
  },
  {
    name: "book at Airtel what a forgotten request moved",
    breaks: "an id that was used before says nothing of this order's amount",
    test: "test/providers/airtel/Adapter.test.ts",
    edits: [
      {
        file: "src/providers/airtel/Translate.ts",
        text: "expected.isRepeated === true ? asCreateOutcome(looked, unfound) : ofAnother(looked)",
        instead: "(expected.isRepeated === true ? asCreateOutcome(looked, unfound) : asCreateOutcome(looked, unfound))"
      }
    ]
  },
  {
    name: "believe a callback of Airtel's whatever its hash",
    breaks: "where an application authenticates its callbacks, one that does not fit is only a reason to ask",
    test: "test/providers/airtel/Callback.test.ts",
    edits: [
      {
        file: "src/providers/airtel/Callback.ts",
        text: "const isBelieved = keys.length === 0 ||",
        instead: "const isBelieved = keys.length >= 0 ||"
      }
    ]
  },
  {
    name: "believe within minutes that Airtel has no such payout",
    breaks: '"not found" of a payout proves nothing for a day',
    test: guarantees,
    edits: [
      { file: "src/providers/airtel/Adapter.ts", text: "notFoundGraceMs: 86_400_000,", instead: "notFoundGraceMs: 600_000," }
    ]
  },
  {
    name: "fail a payment at M-Pesa by a code that no document has",
    breaks: "a result that is not understood is no failure",
    test: "test/providers/daraja/Translate.test.ts",
    edits: [
      {
        file: "src/providers/daraja/Translate.ts",
        text: 'return failureBy(kind, code) === undefined ? undefined : "failed"',
        instead: 'return failureBy(kind, code) === undefined ? "failed" : "failed"'
      }
    ]
  },
  {
    name: "believe that M-Pesa has no such charge",
    breaks: "nothing of ours leads to a charge at M-Pesa, so that not finding it never ends it",
    test: guarantees,
    edits: [{ file: "src/providers/daraja/Adapter.ts", text: '  chargeLookup: "by_provider_ref",\n', instead: "" }]
  },
  {
    name: "take at M-Pesa the answer to another question",
    breaks: "an answer counts for the question whose acknowledgement it names",
    test: daraja,
    edits: [
      {
        file: "src/providers/daraja/Translate.ts",
        text: "({ Result: { ConversationID } }) => ConversationID === conversation",
        instead: '({ Result: { ConversationID } }) => ConversationID !== "" || conversation !== ""'
      }
    ]
  },
  {
    name: "take what comes to an address that M-Pesa was not given",
    breaks: "an address for one result is proved before anything is kept of what came to it",
    test: daraja,
    edits: [
      {
        file: "src/providers/OwnAddresses.ts",
        text: "timingSafeEqual(Buffer.from(given), Buffer.from(mac(purpose)))",
        instead: "timingSafeEqual(Buffer.from(given), Buffer.from(given)) || mac(purpose) === given"
      }
    ]
  },
  {
    name: "send a prompt of M-Pesa's whose payment nothing could find",
    breaks: "a prompt is sent only once the hash that finds its payment is stored",
    test: "test/providers/daraja/Receipts.test.ts",
    edits: [
      {
        file: "src/providers/daraja/Adapter.ts",
        text: 'if (!(yield* isKept(addresses.keep("payer", order.reference, JSON.stringify(payer))))) return unfindable',
        instead:
          'if (!(yield* isKept(addresses.keep("payer", order.reference, JSON.stringify(payer)))) && body.length < 0) return unfindable'
      }
    ]
  },
  {
    name: "forget at M-Pesa the prompt of a charge that its report found",
    breaks: "a charge that was paid is asked about for weeks, however it was found",
    test: daraja,
    edits: [
      {
        file: "src/providers/daraja/Adapter.ts",
        text: '      yield* addresses.keep("prompt", reference, JSON.stringify(id))\n',
        instead: ""
      }
    ]
  },
  {
    name: "pay by Wave with a new key each time",
    breaks: "the same order is the same bytes under the same key",
    test: wave,
    edits: [
      {
        file: "src/providers/wave/Adapter.ts",
        text: "{ [IDEMPOTENCY_KEY]: order.reference }",
        instead: "{ [IDEMPOTENCY_KEY]: `${order.reference}${Math.random()}` }"
      }
    ]
  },
  {
    name: "end a charge at Wave whose page can still be paid",
    breaks: "a payment that failed is not the end of its session",
    test: "test/providers/wave/Translate.test.ts",
    edits: [
      {
        file: "src/providers/wave/Translate.ts",
        text: 'failed: ["complete cancelled",',
        instead: 'failed: ["complete cancelled", "open cancelled",'
      }
    ]
  },
  {
    name: "refuse what is in conflict at Wave",
    breaks: "a conflict is with something that is there, which decides",
    test: "test/providers/wave/Translate.test.ts",
    edits: [
      {
        file: "src/providers/wave/Refusals.ts",
        text: "isAnswered(response, 409) ||",
        instead: "isAnswered(response, 499) ||"
      }
    ]
  },
  {
    name: "leave a page of Wave's open to which nobody was sent",
    breaks: "a page that no payer was sent to is paid by nobody afterwards",
    test: wave,
    edits: [
      {
        file: "src/providers/wave/Adapter.ts",
        text: "const STRAY_AFTER_MS = 300_000",
        instead: "const STRAY_AFTER_MS = 300_000_000"
      }
    ]
  },
  {
    name: "believe within minutes that Wave has no such payout",
    breaks: '"not found" of a payout proves nothing for a day',
    test: guarantees,
    edits: [{ file: "src/providers/wave/Adapter.ts", text: "notFoundGraceMs: 86_400_000", instead: "notFoundGraceMs: 60_000" }]
  }
]
