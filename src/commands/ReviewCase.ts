import { type Instant, iso } from "../domain/Instant.ts"
import { feeUnlessSaid, spokeOfAnother } from "../domain/KnownFee.ts"
import { actionsFor, type Resolution, type ResolutionAction } from "../domain/Resolution.ts"
import { meaningOf } from "../domain/ResolutionText.ts"
import { lastReport, reviewReason } from "../domain/ReviewReason.ts"
import type { Case } from "../services/settlement/Review.ts"
import { asText } from "./Output.ts"

/** A case for programs. */
export const caseView = ({ call, history, record, revision }: Case) => ({
  app_id: record.appId,
  reference: record.reference,
  kind: record.kind,
  status: record.status,
  revision,
  is_test_mode: record.mode === "test",
  amount_minor: record.amount,
  currency: record.currency,
  ...sentView(record),
  provider: record.provider,
  provider_reference: record.providerReference,
  sent_at: iso(record.createdAt),
  asked: record.asked,
  provider_said: lastReport(history),
  reason: reviewReason(record, history),
  raw_request: call.rawRequest,
  raw_response: call.rawResponse,
  history: history.map(({ actor, at, fact, note, status }) => ({ at: iso(at), actor, fact, status, note }))
})

/** What left the float or was to come in, and to or from whom. */
const sentView = (record: Case["record"]) => {
  switch (record.kind) {
    case "payout":
      return {
        principal_minor: record.principal,
        held_fee_minor: record.heldFee,
        reported_fee_minor: record.reported?.fee ?? null,
        party: record.maskedDestination
      }
    case "collection":
      return {
        observed_amount_minor: record.observedAmount,
        observed_currency: record.observedCurrency,
        reported_fee_minor: record.reported?.fee ?? null,
        party: record.maskedSource
      }
    case "exchange":
      return { destination_amount_minor: record.destinationAmount, destination_currency: record.destinationCurrency }
  }
}

/** Cases for people, the oldest first, as lines of text. */
export const formatReviewQueue = (cases: ReadonlyArray<Case>, now: Instant): ReadonlyArray<string> => {
  if (cases.length === 0) return ["nothing needs a person"]
  const count = cases.length === 1 ? "1 case needs" : `${cases.length} cases need`
  return [`${count} a person, the oldest first`, ...cases.flatMap((one, at) => ["", ...block(one, at + 1, now)])]
}

const block = ({ call, history, record, revision }: Case, place: number, now: Instant): ReadonlyArray<string> => {
  const { appId, asked, createdAt, currency, kind, mode, provider, providerReference, reference, status } = record
  const view = {
    why: reviewReason(record, history),
    tenant: `${appId}, ${mode}`,
    provider: providerReference === null ? provider : `${provider}, where it is ${providerReference}`,
    currency,
    amount_minor: record.amount,
    ...sentView(record),
    sent_at: `${iso(createdAt)}, ${age(now - createdAt)} ago`,
    sent: call.rawRequest,
    answered: call.rawResponse,
    asked: `${asked} times since its last news`,
    last_answer: lastReport(history),
    revision,
    history: history.map(({ actor, at, fact, note }) => ({ at: iso(at), actor, fact, note }))
  }
  return [
    `${place}. ${reference}, a ${status} ${kind}`,
    ...asText(view).split("\n"),
    "to end it, one of",
    ...commands(record, revision)
  ]
}

const commands = (record: Case["record"], revision: bigint): ReadonlyArray<string> => {
  const to = actionsFor(record)
  return (["successful", "failed"] as const).flatMap((outcome) => [
    `  npm run -s gateway -- review resolve ${record.reference} --outcome ${outcome} --evidence "..."${figures(record, outcome, to[outcome])} [--seen ${revision}]`,
    `    ${meaningOf(outcome, to[outcome])}${knownFeeOf(record, outcome)}`
  ])
}

/**
 * What may be left out stands in brackets. A collection is credited net of its fee, which has to be found out where nobody named it; a fee that is known
 * is the fee of that amount, and whoever names another amount names its fee as well.
 */
const figures = (record: Case["record"], outcome: Resolution["outcome"], way: ResolutionAction): string => {
  if (outcome === "failed" || way === "keep") return ""
  if (record.kind === "exchange") return " [--amount-minor N]"
  if (record.kind === "payout") return " [--amount-minor N] [--fee-minor N]"
  if (feeUnlessSaid(record) !== null) return " [--amount-minor N --fee-minor N]"
  return `${spokeOfAnother(record) ? " --amount-minor N" : " [--amount-minor N]"} --fee-minor N`
}

/** The fee that a collection's success books where none is said. */
const knownFeeOf = (record: Case["record"], outcome: Resolution["outcome"]): string => {
  const fee = record.kind === "collection" && outcome === "successful" ? feeUnlessSaid(record) : null
  return fee === null ? "" : `; without another amount the fee is ${fee}`
}

const MINUTE_MS = 60_000
const units = [
  ["d", 1440],
  ["h", 60],
  ["min", 1]
] as const

/** The two largest units: "3 h 20 min". */
const age = (milliseconds: number): string => {
  let minutes = Math.floor(milliseconds / MINUTE_MS)
  const parts = units.flatMap(([unit, length]) => {
    const count = Math.floor(minutes / length)
    minutes -= count * length
    return count === 0 ? [] : [`${count} ${unit}`]
  })
  return parts.length === 0 ? "less than a minute" : parts.slice(0, 2).join(" ")
}
