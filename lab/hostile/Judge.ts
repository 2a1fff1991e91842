import { LARGER_FEE } from "../../src/simulator/Endings.ts"
import { collectionFee, payoutFee } from "../../src/simulator/Fees.ts"
import type { Heard } from "./Case.ts"

// Knows what the provider did, and shares no rule with the program.

type Told = Heard["facts"][number]

/** What is wrong with what was told, each in one line; nothing where all of it is safe and the truth is found in the end. */
export const faultsOf = (heard: Heard): ReadonlyArray<string> => {
  const faults = [...heard.facts, heard.found].flatMap((fact) => unsafe(heard, fact))
  const moved = moves(heard)
  if (moved.length > 1) faults.push(`moved ${moved.length} times`)
  faults.push(...unsettled(heard))
  // What is sent back some time after its success may come back between two questions.
  const mayChange = heard.ending === "0015" && heard.found._tag !== "Returned"
  if (heard.again !== null && !mayChange && !isSame(heard.again, heard.found))
    faults.push(`what means the same is read as ${shown(heard.again)}, not as ${shown(heard.found)}`)
  return [...new Set(faults)]
}

const moves = ({ executions }: Heard) => executions.filter(({ direction }) => direction !== "return")
const cameBack = ({ executions }: Heard) => executions.filter(({ direction }) => direction === "return")

const unsafe = (heard: Heard, fact: Told): ReadonlyArray<string> => {
  const [moved] = moves(heard)
  // What was sent back may be told as a failure.
  const isThere = (moved !== undefined && cameBack(heard).length === 0) || heard.found._tag === "StillPending"
  switch (fact._tag) {
    case "NotSent":
    case "Refused":
      return isThere ? [`${fact._tag} (${fact.note}) of what ${moved === undefined ? "is under way" : "moved money"}`] : []
    case "NotFound":
      // A charge that waits on a page is not known there before its payer came.
      // By itself it proves nothing, least of all where lists are late.
      return isThere && !heard.way.redirect && !heard.isHidden ? [`NotFound (${fact.note}) of what is there`] : []
    case "Mismatched":
    case "CodeRejected":
      return [`${fact._tag} (${fact.note})`]
    case "Succeeded": {
      if (moved === undefined) return [`Succeeded (${fact.note}) without a movement`]
      const wrong = fact.amount !== null && Number(fact.amount) !== moved.amount_minor
      const fee = feeOf(heard, moved.amount_minor)
      // Of a payout the held one stands, and a charge whose fee nobody knows is not credited.
      const isFeeWrong = fact.fee !== null && fact.fee !== fee
      return [
        ...(wrong ? [`Succeeded with ${fact.amount}, where ${moved.amount_minor} moved`] : []),
        ...(isFeeWrong ? [`Succeeded with a fee of ${fact.fee}, where it was ${fee}`] : [])
      ]
    }
    case "Returned": {
      const [back] = cameBack(heard)
      return back === undefined || Number(fact.amount) !== back.amount_minor ? [`Returned ${fact.amount} (${fact.note})`] : []
    }
    default:
      return []
  }
}

const feeOf = ({ ending, kind, way }: Heard, amount: number): bigint =>
  kind === "charge"
    ? collectionFee(BigInt(amount))
    : payoutFee(way.currency, way.method, BigInt(amount)) + (ending === "0014" ? LARGER_FEE : 0n)

/** What is found over a good line, by whoever had a bad one before, too. */
const unsettled = (heard: Heard): ReadonlyArray<string> => {
  const recovered = heard.facts.at(-1)
  return [heard.found, ...(recovered === undefined ? [] : [recovered])].flatMap((fact) => {
    if (fact._tag === "Unknown") return [`a good line is not read: ${fact.note}`]
    return moves(heard).length > 0 && !ended.has(fact._tag) ? [`${fact._tag} over a good line of what moved money`] : []
  })
}
const ended: ReadonlySet<string> = new Set(["Succeeded", "Returned", "Refused"])

const isSame = (one: Told, other: Told): boolean => shown(one) === shown(other)

const shown = (fact: Told): string =>
  "amount" in fact ? `${fact._tag} of ${fact.amount}, fee ${"fee" in fact ? fact.fee : ""}` : fact._tag
