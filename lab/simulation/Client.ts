import { AppId } from "../../src/domain/Ids.ts"
import type { Random } from "../../test/support/Random.ts"
import type { Mode, MovementKind } from "./Movement.ts"
import { type Heard, named, refusalIn, type Told } from "./Seen.ts"
import { RIGHT_PIN } from "./SentCodes.ts"

export interface Operation extends Told {
  readonly body: Uint8Array
  /** Of the code that its payer was sent; undefined where none is known. */
  pinId: string | undefined
}

/** What a tenant is about to ask for. */
export interface Wish {
  readonly appId: string
  readonly mode: Mode
  readonly kind: MovementKind
  readonly amount: bigint
  readonly party: string
}

export interface Code {
  readonly pinId: string
  readonly pin: string
}

export const TENANTS = ["one", "two"] as const
export const MODES = ["live", "test"] as const
/** So few payers that their charges meet. */
const PAYERS = 4
const RECIPIENTS = 100_000
export const CEILING_AT_MOST = 45_000n
/** More than a transaction may hear. */
const WRONG_PINS = ["000000", "111111", "222222", "333333", "444444", "555555", "666666"] as const

export const wish = (random: Random): Wish => {
  const appId = random.pick(TENANTS)
  const mode = random.chance(0.25) ? ("test" as const) : ("live" as const)
  const kind = random.chance(0.55) ? ("payout" as const) : random.chance(0.7) ? ("collection" as const) : ("exchange" as const)
  // Now and then more than the float holds, and more than may move in test mode.
  const amount = BigInt(random.chance(0.1) ? 90_000 + random.below(20_000) : 1_000 + random.below(9_000))
  const party = kind === "exchange" ? "" : `25677${1_000_000 + random.below(kind === "collection" ? PAYERS : RECIPIENTS)}`
  return { appId, mode, kind, amount, party }
}

/** What was known before it was asked. */
interface Given {
  /** Of an exchange; empty for everything else. */
  readonly quoteId: string
  /** What the payer of a charge typed already. */
  readonly code: Code | null
}

export const operation = (asked: Wish, key: string, askedAt: number, { code, quoteId }: Given): Operation => {
  const { amount, kind, party } = asked
  const terms = { amount_minor: Number(amount), currency: "UGX", country: "UG", method: "momo" }
  const bodies = {
    payout: { ...terms, destination: momo(party) },
    collection: { ...terms, source: momo(party), ...(code === null ? {} : { otp: wireOf(code) }) },
    exchange: { quote_id: quoteId }
  }
  const pin = code?.pin ?? null
  const none = { answers: [], said: [], reference: undefined, settled: undefined }
  return { ...asked, key, askedAt, pin, ...none, pinId: code?.pinId, body: bytesOf(bodies[kind]) }
}

/** What says a code for a collection that waits for one. */
export const authorization = ({ party }: Operation, code: Code): Uint8Array =>
  bytesOf({ authorization: { type: "otp", otp: wireOf(code) }, source: momo(party) })

export const pinOf = (random: Random, rightShare: number): string =>
  random.chance(rightShare) ? RIGHT_PIN : random.pick(WRONG_PINS)
export const everyWrongPin: ReadonlyArray<string> = WRONG_PINS

export const hear = (told: Operation, answer: Heard): void => {
  told.answers.push(answer)
  const reference = named(answer.body)
  told.reference ??= reference
  told.pinId ??= pinIdIn(answer.body)
  const error = refusalIn(answer.body)
  if (answer.status === 201) told.settled = "accepted"
  else if (error?.terminal === true) told.settled ??= "refused"
  // More than the ceiling by itself: no other day is better.
  else if (error?.code === "global_ceiling_reached" && told.amount > CEILING_AT_MOST) told.settled ??= "refused"
  // Recorded: its outcome is told by webhook, or it waits for another code.
  else if (reference !== undefined && (error?.ambiguous === true || error?.code === "otp_incorrect")) told.settled = "accepted"
}

const pinIdIn = (body: string): string | undefined => {
  const { data }: { data?: { next_action?: { pin_id?: string } | null } } = JSON.parse(body)
  return data?.next_action?.pin_id
}

const momo = (msisdn: string) => ({ type: "momo", msisdn, network: "MTN", country: "UG" })
const wireOf = ({ pin, pinId }: Code) => ({ pin_id: pinId, pin })
const bytesOf = (body: object): Uint8Array => Buffer.from(JSON.stringify(body))

/** Where the one who claimed the key may stand so that everybody else has to be told to wait. */
export const holdsKey = (moment: string | null): boolean =>
  moment !== null && !["before claim", "after apply", "after complete", "after release"].includes(moment)

export const callerOf = ({ appId, mode }: Pick<Operation, "appId" | "mode">) =>
  ({ appId: AppId.make(appId), keyId: "k", mode, role: "tenant" }) as const
