import { Schema } from "effect"
import type { TransactionKind } from "../domain/Transaction.ts"

/** The last four characters of the payer's or recipient's number. A number that is not in the table is an ordinary success. */
export const Ending = Schema.Literals([
  "ordinary",
  ...(["0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009"] as const),
  ...(["0010", "0011", "0012", "0013", "0014", "0015", "0016", "0017", "0018"] as const)
])
export type Ending = typeof Ending.Type

/** The gate before a transaction exists at the provider. Every gate but `open` leaves nothing behind. */
export type Gate = "open" | "refused" | "pool_short" | "no_account" | "unavailable" | "unheard" | "reset"

/** The fault in the response to a call that the provider did accept. */
export type ResponseFault = "none" | "silence" | "server_error" | "not_json"

export interface PlannedCallback {
  readonly says: "successful" | "failed" | "pending"
  readonly when: "before_response" | "after_settlement"
  readonly signature: "genuine" | "forged"
}

export interface Play {
  readonly gate: Gate
  readonly responseFault: ResponseFault
  /** `stays_pending` never moves any money. */
  readonly outcome: "successful" | "failed" | "stays_pending"
  readonly settles: "at_once" | "after_delay"
  readonly callbacks: ReadonlyArray<PlannedCallback>
  readonly twist: "none" | "larger_fee" | "smaller_amount" | "returned" | "paid_after_all"
}

/** The minor units by which `larger_fee` exceeds the quoted fee. */
export const LARGER_FEE = 200n

/** A failed charge is paid after all this many delays later: by then the client knows of the failure. */
export const LATE_DELAYS = 3

export const says = (outcome: PlannedCallback["says"], change: Partial<PlannedCallback> = {}): PlannedCallback => ({
  says: outcome,
  when: "after_settlement",
  signature: "genuine",
  ...change
})

const ordinary: Play = {
  gate: "open",
  responseFault: "none",
  outcome: "successful",
  settles: "after_delay",
  callbacks: [says("successful")],
  twist: "none"
}

const plays: Readonly<Record<Ending, Play>> = {
  ordinary,
  "0001": { ...ordinary, gate: "refused" },
  "0002": { ...ordinary, outcome: "failed", callbacks: [says("failed")] },
  "0003": { ...ordinary, settles: "at_once", responseFault: "silence" },
  "0004": { ...ordinary, gate: "unheard" },
  "0005": { ...ordinary, settles: "at_once", responseFault: "server_error" },
  "0006": { ...ordinary, settles: "at_once", responseFault: "not_json" },
  "0007": { ...ordinary, gate: "reset" },
  "0008": { ...ordinary, callbacks: [] },
  "0009": {
    ...ordinary,
    settles: "at_once",
    callbacks: [says("successful", { when: "before_response" }), says("successful"), says("successful")]
  },
  "0010": { ...ordinary, outcome: "stays_pending", callbacks: [] },
  "0011": { ...ordinary, callbacks: [says("successful"), says("pending")] },
  "0012": {
    ...ordinary,
    outcome: "stays_pending",
    callbacks: [says("successful", { signature: "forged" }), says("successful")]
  },
  "0013": { ...ordinary, gate: "pool_short" },
  "0014": { ...ordinary, twist: "larger_fee" },
  "0015": { ...ordinary, twist: "returned" },
  "0016": { ...ordinary, gate: "no_account" },
  "0017": { ...ordinary, gate: "unavailable" },
  "0018": ordinary
}

// An exchange is booked before its response, and has neither a fee nor callbacks.
const different: Readonly<Record<TransactionKind, Partial<Record<Ending, Play>>>> = {
  payout: {},
  collection: {
    "0013": ordinary,
    "0014": { ...ordinary, twist: "smaller_amount" },
    "0018": { ...ordinary, outcome: "failed", callbacks: [says("failed")], twist: "paid_after_all" }
  },
  exchange: { "0014": ordinary }
}

export const playOf = (kind: TransactionKind, ending: Ending): Play => {
  const play = different[kind][ending] ?? plays[ending]
  return kind === "exchange" ? { ...play, settles: "at_once" } : play
}

/** The ending of a charge at a provider whose payers pay either the whole amount or nothing. */
export const wholeOrNothing = (ending: Ending): Ending => (ending === "0014" ? "ordinary" : ending)

const isEnding = Schema.is(Ending)

export const endingOf = (numberOrName: string): Ending => {
  const last = numberOrName.slice(-4)
  return isEnding(last) ? last : "ordinary"
}
