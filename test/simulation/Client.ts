import { AppId } from "../../src/domain/Ids.ts"
import type { Random } from "../support/Random.ts"
import { type Heard, named, type Told } from "./Judge.ts"
import type { Kind, Mode } from "./Movement.ts"

export interface Operation extends Told {
  readonly body: Uint8Array
}

/** What a tenant is about to ask for. */
export interface Wish {
  readonly appId: string
  readonly mode: Mode
  readonly kind: Kind
  readonly amount: bigint
  readonly party: string
}

export const TENANTS = ["one", "two"] as const
export const MODES = ["live", "test"] as const
/** So few payers that their charges meet. */
const PAYERS = 4
const RECIPIENTS = 100_000

export const wish = (random: Random): Wish => {
  const appId = random.pick(TENANTS)
  const mode = random.chance(0.25) ? ("test" as const) : ("live" as const)
  const kind = random.chance(0.55) ? ("payout" as const) : random.chance(0.7) ? ("collection" as const) : ("exchange" as const)
  // Now and then more than the float holds, and more than may move in test mode.
  const amount = BigInt(random.chance(0.1) ? 90_000 + random.below(20_000) : 1_000 + random.below(9_000))
  const party = kind === "exchange" ? "" : `25677${1_000_000 + random.below(kind === "collection" ? PAYERS : RECIPIENTS)}`
  return { appId, mode, kind, amount, party }
}

/** `quoteId` is that of an exchange. */
export const operation = (asked: Wish, key: string, quoteId = ""): Operation => {
  const { amount, kind, party } = asked
  const terms = { amount_minor: Number(amount), currency: "UGX", country: "UG", method: "momo" }
  const momo = { type: "momo", msisdn: party, network: "MTN", country: "UG" }
  const bodies = {
    payout: { ...terms, destination: momo },
    collection: { ...terms, source: momo },
    exchange: { quote_id: quoteId }
  }
  const body = Buffer.from(JSON.stringify(bodies[kind]))
  return { ...asked, key, answers: [], reference: undefined, settled: undefined, body }
}

export const hear = (told: Operation, answer: Heard): void => {
  told.answers.push(answer)
  const reference = named(answer.body)
  told.reference ??= reference
  const { error }: { error?: { terminal: boolean; ambiguous: boolean } } = JSON.parse(answer.body)
  if (answer.status === 201) told.settled = "accepted"
  else if (error?.terminal === true) told.settled ??= "refused"
  // Recorded, and its outcome is told by webhook.
  else if (error?.ambiguous === true && reference !== undefined) told.settled = "accepted"
}

/** Where the one who claimed the key may stand so that everybody else has to be told to wait. */
export const holdsKey = (moment: string | null): boolean =>
  moment !== null && !["before claim", "after apply", "after complete", "after release"].includes(moment)

export const callerOf = ({ appId, mode }: Pick<Operation, "appId" | "mode">) =>
  ({ appId: AppId.make(appId), keyId: "k", mode, role: "tenant" }) as const
