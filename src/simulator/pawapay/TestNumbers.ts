import { type Ending, endingOf } from "../Endings.ts"

/** How a payment plays: its ending, and the code with which it fails. */
interface Scenario {
  readonly ending: Ending
  readonly failureCode: string
}

// pawaPay's own test numbers: a network's beginning, and three digits for what happens.
const beginnings: ReadonlyArray<string> = [
  "256783456",
  "256753456",
  "254703456",
  "260763456",
  "260973456",
  "237653456",
  "237693456",
  "250783456",
  "255683456",
  "255763456",
  "255713456",
  "255623456"
]
const SCENARIO_DIGITS = 3

const failures: Readonly<Record<"payout" | "collection", Readonly<Record<string, string>>>> = {
  collection: {
    "019": "PAYER_LIMIT_REACHED",
    "029": "PAYER_NOT_FOUND",
    "039": "PAYMENT_NOT_APPROVED",
    "049": "INSUFFICIENT_BALANCE",
    "059": "TRANSACTION_ALREADY_IN_PROCESS",
    "069": "UNSPECIFIED_FAILURE"
  },
  payout: {
    "079": "RECIPIENT_NOT_FOUND",
    "089": "RECIPIENT_NOT_FOUND",
    "099": "WALLET_LIMIT_REACHED",
    "109": "RECIPIENT_LIMIT_REACHED",
    "119": "UNSPECIFIED_FAILURE"
  }
}

const ordinary = { payout: "UNSPECIFIED_FAILURE", collection: "PAYMENT_NOT_APPROVED" } as const

export const scenarioOf = (kind: "payout" | "collection", phoneNumber: string): Scenario => {
  const beginning = beginnings.find((one) => phoneNumber.startsWith(one) && phoneNumber.length === one.length + SCENARIO_DIGITS)
  const digits = beginning === undefined ? "" : phoneNumber.slice(beginning.length)
  const failureCode = failures[kind][digits]
  if (failureCode !== undefined) return { ending: "0002", failureCode }
  return { ending: digits === "129" ? "0010" : endingOf(phoneNumber), failureCode: ordinary[kind] }
}
