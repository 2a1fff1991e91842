import type { Random } from "../../test/support/Random.ts"
import { collectionFee, MINUTE, type Mode, type Movement, type MovementKind, PAYOUT_FEE, SHORT_BY } from "./Movement.ts"
import type { Mover } from "./Movers.ts"

/** What is asked of a provider, whatever its kind. */
export interface Wish {
  readonly account: string
  readonly kind: MovementKind
  readonly mode: Mode
  readonly reference: string
  readonly amount: bigint
  readonly brings: Movement["brings"]
  readonly hasCode: boolean
}

interface Chances {
  readonly random: Random
  /** Never where nothing may go wrong any more. */
  readonly chance: (share: number) => boolean
  readonly isCalm: boolean
  /** Some charges are taken back after their success. */
  readonly reverses: boolean
}

/** What really becomes of what a provider took: when it can be found, how it ends, and whether it comes back. */
export const drawMovement = (
  { declared, lateMs: payoutLateMs, lateShare, name: provider }: Mover,
  { account, amount, brings, hasCode, kind, mode, reference }: Wish,
  now: number,
  { chance, isCalm, random, reverses }: Chances
): Movement => {
  const lateMs = (kind === "collection" ? declared?.chargeLateMs : undefined) ?? payoutLateMs
  const from = chance(lateShare) ? now + random.below(lateMs) : now
  const settlesAt = from + (chance(0.3) ? 0 : random.below(isCalm ? 1000 : 20 * MINUTE))
  const outcome = chance(0.15) ? "failed" : "successful"
  const isShort = kind !== "exchange" && chance(0.06)
  const moved = isShort ? amount - SHORT_BY : amount
  const mayReturn = kind === "payout" || (reverses && kind === "collection")
  const returns = mayReturn && outcome === "successful" && !isShort && chance(0.1)
  const surprise = isShort ? 0n : chance(0.1) ? 200n : chance(0.1) ? -300n : 0n
  return {
    provider,
    account,
    mode,
    kind,
    reference,
    currency: "UGX",
    amount: moved,
    fee: kind === "exchange" ? 0n : kind === "collection" ? collectionFee(moved) : PAYOUT_FEE + surprise,
    brings,
    takenAt: now,
    hasCode,
    from,
    settlesAt,
    outcome,
    returnsAt: returns ? settlesAt + random.below(60 * MINUTE) : null
  }
}
