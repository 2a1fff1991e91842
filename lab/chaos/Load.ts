import { setTimeout as pause } from "node:timers/promises"
import type { Random } from "../../test/support/Random.ts"
import { type Answer, type Key, send } from "./Client.ts"

/** One money-moving operation as its tenant sees it: what was wanted, and what was answered in the end. */
export interface Operation {
  readonly tenant: Key
  readonly kind: "payout" | "collection"
  readonly ending: string
  readonly amount: number
  readonly key: string
  readonly body: object
  /** How often it was sent before an answer settled it. */
  attempts: number
  /** The reference, once any answer named it. */
  reference: string | undefined
  /** Settled: accepted, or refused for good. Unsettled operations are asked again when everything runs. */
  settled: "accepted" | "refused" | undefined
}

// What the simulated provider does, by the last four digits; 1000 is an ordinary success. Weighted by repetition.
const payoutEndings = [
  ...Array<string>(14).fill("1000"),
  "0001",
  "0002",
  "0003",
  "0004",
  "0005",
  "0006",
  "0007",
  "0008",
  "0009",
  "0011",
  "0012",
  "0014",
  "0015"
]
const collectionEndings = [...Array<string>(10).fill("1000"), "0001", "0002", "0003", "0005", "0006", "0008", "0009", "0011"]

/** So many numbers in turn for each ending: two charges of one number lie further apart than the double-charge guard looks back. */
const FIRST_NUMBER = 10_000
const NUMBERS = 90_000
const PAUSE_MS = 200
const ATTEMPTS_AT_MOST = 200

/** The last four digits of the numbers, a payout's and a charge's; those that are there more often are drawn more often. */
export interface Endings {
  readonly payout: ReadonlyArray<string>
  readonly collection: ReadonlyArray<string>
}

/** An endless sequence of operations. */
export const planner = (
  random: Random,
  tenants: readonly [Key, ...ReadonlyArray<Key>],
  endings: Endings = { payout: payoutEndings, collection: collectionEndings }
) => {
  let made = 0
  return (): Operation => {
    made++
    const tenant = random.pick(tenants)
    const kind = random.chance(0.6) ? "payout" : "collection"
    const ending = random.pick(nonEmpty(endings[kind]))
    const amount = 500 + random.below(2000)
    const msisdn = `256${FIRST_NUMBER + (made % NUMBERS)}${ending}`
    const party = { type: "momo", msisdn, network: "MTN", country: "UG" }
    const terms = { amount_minor: amount, currency: "UGX", country: "UG", method: "momo", metadata: { made } }
    const body = kind === "payout" ? { ...terms, destination: party } : { ...terms, source: party }
    return { tenant, kind, ending, amount, key: `op-${made}`, body, attempts: 0, reference: undefined, settled: undefined }
  }
}

const nonEmpty = (list: ReadonlyArray<string>): readonly [string, ...ReadonlyArray<string>] => [
  list[0] ?? "1000",
  ...list.slice(1)
]

/** Sends it with its one key until an answer settles it; `isOver` lets it be given up for now. `heard` is told of each answer, and where none came. */
export const perform = async (
  operation: Operation,
  gateway: () => { readonly host: string; readonly url: string },
  isOver: () => boolean,
  heard: (begun: number, answer: Answer | undefined) => void = () => undefined
): Promise<void> => {
  const target = operation.kind === "payout" ? "/v1/payouts" : "/v1/collections"
  for (let attempt = 0; attempt < ATTEMPTS_AT_MOST; attempt++) {
    operation.attempts++
    const begun = performance.now()
    const answer = await send(gateway(), operation.tenant, {
      method: "POST",
      target,
      body: operation.body,
      idempotencyKey: operation.key
    })
    heard(begun, answer)
    note(operation, answer)
    if (operation.settled !== undefined || isOver()) return
    await pause(PAUSE_MS)
  }
}

const note = (operation: Operation, answer: Answer | undefined): void => {
  if (answer === undefined) return
  const named = answer.body.data?.["reference"] ?? answer.body.error?.details["reference"]
  // A guard's refusal names another charge.
  if (typeof named === "string" && answer.body.error?.code !== "duplicate_charge_in_flight") {
    if (operation.reference !== undefined && operation.reference !== named)
      throw new Error(`the key ${operation.key} has two references: ${operation.reference} and ${named}`)
    operation.reference = named
  }
  if (answer.status === 201) operation.settled = "accepted"
  else if (answer.body.error?.terminal === true) operation.settled = "refused"
  // Recorded and open: nothing to send again for; it is polled by its reference.
  else if (answer.body.error?.ambiguous === true && operation.reference !== undefined) operation.settled = "accepted"
}
