import type { Fact } from "../../src/domain/Fact.ts"
import { minor, ZERO } from "../../src/domain/Money.ts"
import { NOON } from "./SampleTransactions.ts"

/** When the given facts are told. */
export const TOLD_AT = NOON + 60_000
const heard = { providerReference: "P1", note: "" }

/** One of each fact, about a record of so much; as the provider would tell it a minute after it was made. */
export const facts = (principal: bigint): { readonly [F in Fact["_tag"]]: Extract<Fact, { _tag: F }> } => ({
  Accepted: { _tag: "Accepted", ...heard, observedAmount: null, observedCurrency: null },
  NeedsRedirect: {
    _tag: "NeedsRedirect",
    ...heard,
    redirectUrl: "https://pay.example/1",
    observedAmount: null,
    observedCurrency: null
  },
  CodeSent: { _tag: "CodeSent", note: "" },
  WrongCode: {
    _tag: "WrongCode",
    pinId: "VE1",
    message: "the code",
    expiresAt: TOLD_AT + 60_000,
    attemptsRemaining: 4,
    note: ""
  },
  Charged: { _tag: "Charged", expiresAt: TOLD_AT + 900_000, note: "" },
  Succeeded: { _tag: "Succeeded", ...heard, amount: minor(principal), currency: "UGX", fee: minor(750n) },
  Refused: { _tag: "Refused", ...heard, kind: "party", failure: { code: "provider_rejected", message: "no" } },
  NotSent: { _tag: "NotSent", note: "" },
  Rerouted: { _tag: "Rerouted", provider: "other", fee: minor(900n), note: "" },
  Unknown: { _tag: "Unknown", reason: "timeout", note: "" },
  StillPending: { _tag: "StillPending", ...heard },
  Mismatched: { _tag: "Mismatched", note: "" },
  NotFound: { _tag: "NotFound", note: "" },
  Expired: { _tag: "Expired", note: "" },
  Returned: {
    _tag: "Returned",
    amount: minor(principal),
    currency: "UGX",
    fee: ZERO,
    charged: null,
    at: TOLD_AT,
    note: "account closed"
  },
  Clawback: {
    _tag: "Clawback",
    by: "dispute",
    id: "7",
    state: "open",
    amount: minor(principal),
    currency: "UGX",
    reason: "chargeback",
    answerBy: null,
    note: ""
  },
  FeeStated: { _tag: "FeeStated", fee: minor(800n), note: "row P1: fee 800 UGX" }
})
export const factNames = [
  "Accepted",
  "NeedsRedirect",
  "CodeSent",
  "WrongCode",
  "Charged",
  "Succeeded",
  "Refused",
  "NotSent",
  "Rerouted",
  "Unknown",
  "StillPending",
  "Mismatched",
  "NotFound",
  "Expired",
  "Returned",
  "Clawback",
  "FeeStated"
] as const
