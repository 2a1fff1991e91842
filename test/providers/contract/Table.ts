import type { PayoutOutcome, StatusOutcome } from "../../../src/services/ports/Provider.ts"

// What the simulator's endings must look like through the port, whichever provider plays them.

type Tag<F extends { readonly _tag: string }> = F["_tag"]

export interface Row {
  readonly ending: string
  readonly promise: string
  /** What the call itself may answer. */
  readonly answers: ReadonlyArray<Tag<PayoutOutcome>>
  /** What a question answers afterwards. */
  readonly later: Tag<StatusOutcome>
  readonly executed: "once" | "never" | "once, and sent back"
  /** Callbacks of the provider's own, forged ones not counted; null where its manners decide. */
  readonly callbacks: number | null
}

/** Silence becomes the truth only where the adapter looked it up. */
const unheard = ["Unknown", "Accepted", "Succeeded"] as const
const taken = ["Accepted", "Succeeded"] as const
const nothing = ["Unknown"] as const

export const rows: ReadonlyArray<Row> = [
  { ending: "1234", promise: "succeeds", answers: taken, later: "Succeeded", executed: "once", callbacks: 1 },
  {
    ending: "0002",
    promise: "is accepted and then fails",
    answers: ["Accepted"],
    later: "Refused",
    executed: "never",
    callbacks: 1
  },
  {
    ending: "0003",
    promise: "is executed without an answer",
    answers: unheard,
    later: "Succeeded",
    executed: "once",
    callbacks: 1
  },
  {
    ending: "0004",
    promise: "is never answered nor executed",
    answers: nothing,
    later: "NotFound",
    executed: "never",
    callbacks: 0
  },
  { ending: "0005", promise: "is executed with HTTP 500", answers: unheard, later: "Succeeded", executed: "once", callbacks: 1 },
  {
    ending: "0006",
    promise: "is executed with an unreadable answer",
    answers: unheard,
    later: "Succeeded",
    executed: "once",
    callbacks: 1
  },
  { ending: "0007", promise: "meets a reset connection", answers: nothing, later: "NotFound", executed: "never", callbacks: 0 },
  { ending: "0008", promise: "succeeds without a callback", answers: taken, later: "Succeeded", executed: "once", callbacks: 0 },
  {
    ending: "0009",
    promise: "sends its success callback three times",
    answers: taken,
    later: "Succeeded",
    executed: "once",
    callbacks: 3
  },
  { ending: "0010", promise: "stays pending", answers: ["Accepted"], later: "StillPending", executed: "never", callbacks: 0 },
  {
    ending: "0011",
    promise: "sends its callbacks in the wrong order",
    answers: taken,
    later: "Succeeded",
    executed: "once",
    callbacks: 2
  },
  {
    ending: "0012",
    promise: "is pending, whatever callbacks say",
    answers: ["Accepted"],
    later: "StillPending",
    executed: "never",
    callbacks: 1
  },
  {
    ending: "0014",
    promise: "succeeds with another amount or fee",
    answers: taken,
    later: "Succeeded",
    executed: "once",
    callbacks: 1
  },
  {
    ending: "0015",
    promise: "succeeds and is returned",
    answers: taken,
    later: "Returned",
    executed: "once, and sent back",
    callbacks: null
  },
  {
    ending: "0017",
    promise: "meets HTTP 503",
    answers: ["Unknown", "NotSent"],
    later: "NotFound",
    executed: "never",
    callbacks: 0
  }
]

export const refusals = [
  { ending: "0001", promise: "is refused in the answer", answers: ["Refused"], kinds: ["party", "other", "limit"] },
  { ending: "0013", promise: "meets an empty pool", answers: ["Refused", "Accepted"], kinds: ["pool"] },
  { ending: "0016", promise: "has an unknown recipient or payer", answers: ["Refused", "Accepted"], kinds: ["party"] }
] as const
