import { type Decision, unchanged } from "./Decision.ts"
import type { Exchange } from "./Exchange.ts"
import type { Fact } from "./Fact.ts"
import type { Instant } from "./Instant.ts"
import { type MinorUnits, ZERO } from "./Money.ts"
import { isTerminal } from "./Payment.ts"
import type { Transaction } from "./Transaction.ts"

// A report by the provider that contradicts the record opens a review case once. The person who rules on the case knows every
// report up to its opening, so a repetition of those never reopens it. A later or new report does.

/** The most reports stored for one record. An honest provider makes four at most. */
const REPORTS_AT_MOST = 16

/** The movement of money that a fact reports, as text, so that two reports can be compared; null for a fact that reports none. */
export const reportOf = (fact: Fact): string | null => {
  switch (fact._tag) {
    case "Accepted":
    case "StillPending":
    case "NeedsRedirect":
      return "under way"
    case "Refused":
      return "failed"
    case "Succeeded": {
      const brought = fact.exchanged === undefined ? "" : `${BROUGHT}${fact.exchanged.amount} ${fact.exchanged.currency}`
      return `succeeded ${fact.amount ?? "?"} ${fact.currency ?? "?"}${brought}`
    }
    case "Returned":
      return `returned ${fact.amount} ${fact.currency ?? "?"}, fee ${fact.fee}${fact.at === null ? "" : `, at ${fact.at}`}`
    case "Clawback": {
      const what = `${fact.by} ${fact.id}, ${fact.amount ?? "?"} ${fact.currency}`
      if (fact.state === "taken") return `${TAKEN_BY}${what}`
      // This uses the provider's own word: a different unknown word is a new report.
      return fact.state === "unknown" ? `${what}, ${fact.reason ?? "unknown"}` : `${what}, ${fact.state}`
    }
    case "FeeStated":
      return `${FEE}${fact.fee}`
    default:
      return null
  }
}

/** Stands before the yield of an exchange or of a payout across currencies in the report of its success. */
const BROUGHT = ", brought "

/**
 * The yield of an exchange by the provider's last report, such as "34864 KES", where that is not the record's amount: the
 * amount of an exchange that was not booked is only the quoted one. Null where it reported none, or the record's.
 */
export const reportedYield = ({ destinationAmount, destinationCurrency, ruling, said = [] }: Exchange): string | null => {
  const yields = [...(ruling?.known ?? []), ...said].flatMap((report) => report.split(BROUGHT).slice(1))
  const last = yields.at(-1) ?? null
  return last === `${destinationAmount} ${destinationCurrency}` ? null : last
}

/** How the report of a fee in a statement begins. Neither a success nor a return withdraws it. */
const FEE = "fee "
const isFee = (report: string): boolean => report.startsWith(FEE)

/** How the report of a return that a dispute or a refund caused begins. */
const TAKEN_BY = "returned by "

/** The record with the new report. When its final status changes, the list starts anew and an earlier ruling ends. */
export const withReport = <R extends Transaction>(before: R, next: R, fact: Fact): R => {
  const report = reportOf(fact)
  if (next.status !== before.status && isTerminal(next)) {
    const isFirst = before.said === undefined && report === null
    return isFirst ? next : { ...next, said: report === null ? [] : [report], saidAtOpening: [], ruling: null }
  }
  const said = next.said ?? []
  const reported =
    report === null ? next : { ...agreedWith(next, report), ...(said.at(-1) === report ? {} : { said: saidLast(said, report) }) }
  const kept = next.needsReview ? withReportedFee(reported, fact) : reported
  return !before.needsReview && next.needsReview ? { ...kept, saidAtOpening: kept.said ?? [] } : kept
}

const saidLast = (said: ReadonlyArray<string>, report: string): ReadonlyArray<string> =>
  [...said.filter((earlier) => earlier !== report), report].slice(-REPORTS_AT_MOST)

/** A person who rules on the record has to know the fee. It is stored now, because no later answer may name it. */
const withReportedFee = <R extends Transaction>(record: R, fact: Fact): R => {
  if (record.kind === "exchange" || record.ofAnother === true) return record
  if (fact._tag === "FeeStated") return { ...record, reported: { amount: movedBy(record, null), fee: fact.fee } }
  if (fact._tag !== "Succeeded" || fact.fee === null) return record
  if (fact.currency !== null && fact.currency !== record.currency) return record
  return { ...record, reported: { amount: fact.amount ?? movedBy(record, null), fee: fact.fee } }
}

/** A provider that agrees with a ruling withdraws its earlier reports against it: if it repeats them afterwards, they are new. */
const agreedWith = <R extends Transaction>(record: R, report: string): R => {
  const { ruling } = record
  if (ruling === undefined || ruling === null) return record
  const stands = record.status === "successful" ? ruling.outcome : "failed"
  const agrees = agreeingWith(record, stands, null)
  const stays = (known: string) => agrees(known) || isListed(known) || isFee(known)
  return agrees(report) && !ruling.known.every(stays)
    ? { ...record, ruling: { ...ruling, known: ruling.known.filter(stays) } }
    : record
}

/** Whether a report agrees with a ruling. `found`: the amount that the person established; null: the record's amount. */
const agreeingWith = (
  record: Transaction,
  outcome: "successful" | "failed",
  found: MinorUnits | null
): ((report: string) => boolean) => {
  if (outcome === "failed") return (report) => report === "failed" || isReturn(report)
  const agreeing = successesOf(record, found)
  // A part was taken back, and the ruling booked that less came in.
  const isLess = record.kind === "collection" && found !== null && found < movedBy(record, null)
  return (report) => agreeing.includes(report) || (isLess && report.startsWith(TAKEN_BY))
}

const isReturn = (report: string): boolean => report.startsWith("returned ")

/** Whether the report is from a list of disputes or refunds: it and the charge's own success do not withdraw each other. */
const isListed = (report: string): boolean => /^(returned by |booked before )?(dispute|refund) /.test(report)

/** How a ruling remembers a dispute or a refund that had taken nothing yet, when the ruling booked less than had come in. */
const BOOKED_BEFORE = "booked before "

/** Whether a ruling booked what this dispute or refund took, or may have booked what it was going to take. */
export const wasBooked = ({ ruling }: Transaction, { by, id }: Extract<Fact, { _tag: "Clawback" }>): boolean => {
  const listed = `${by} ${id},`
  // Rulings of the previous release stored nothing of this kind: they booked the whole charge.
  const begins = [`${TAKEN_BY}${listed}`, `${BOOKED_BEFORE}${listed}`, ...(ruling?.outcome === "failed" ? [listed] : [])]
  return ruling?.known.some((report) => begins.some((begin) => report.startsWith(begin))) === true
}

/** Whether a ruling knew of a dispute or a refund that took something, in full or in part. */
export const knowsTaken = ({ ruling }: Transaction): boolean =>
  ruling?.known.some((report) => report.startsWith(TAKEN_BY)) === true

/** The disputes and refunds among these reports that had neither taken anything nor ended: a reason to have booked less. */
const bookedBefore = (reports: ReadonlyArray<string>): ReadonlyArray<string> =>
  reports.flatMap((report) => {
    const isUnended = /^(dispute|refund) /.test(report) && !report.endsWith(", kept")
    return isUnended ? [`${BOOKED_BEFORE}${report}`] : []
  })

/** Whether a list of the provider showed a dispute or a refund of this record. */
export const wasListed = ({ ruling, said, saidAtOpening }: Transaction): boolean =>
  [...(said ?? []), ...(saidAtOpening ?? []), ...(ruling?.known ?? [])].some(isListed)

const successesOf = (record: Transaction, found: MinorUnits | null): ReadonlyArray<string> => {
  const succeeded = [movedBy(record, found), "?"].flatMap((amount) =>
    [record.currency, "?"].map((currency) => `succeeded ${amount} ${currency}`)
  )
  if (record.kind === "collection") return succeeded
  const yielded = record.kind === "payout" ? record.destinationAmount : (found ?? record.destinationAmount)
  const brought = `${BROUGHT}${yielded} ${record.destinationCurrency}`
  return succeeded.flatMap((report) => [report, `${report}${brought}`])
}

const movedBy = (record: Transaction, found: MinorUnits | null): MinorUnits => {
  switch (record.kind) {
    case "payout":
      return found ?? record.principal
    case "collection":
      return found ?? record.observedAmount ?? record.amount
    case "exchange":
      return record.amount
  }
}

/**
 * The record's memory of a person's ruling. Its known reports are those made before the case was opened, those known to earlier
 * rulings, and those that agree with it. The person may not have seen a contradicting report that arrived later: if it is
 * repeated, it reopens the case. So does one that the provider had withdrawn by then: a return after a success, or a success
 * after a return, is no contradiction but the next event.
 */
export const afterRuling = (
  record: Transaction,
  outcome: "successful" | "failed",
  found: MinorUnits | null,
  fee: MinorUnits | null = null
) => {
  const agrees = agreeingWith(record, outcome, found)
  const said = record.said ?? []
  const seen = new Set([...(record.ruling?.known ?? []), ...(record.saidAtOpening ?? [])])
  const booked = booksLess(record, outcome, found, fee) ? bookedBefore([...seen, ...said]) : []
  const reports = new Set([...seen, ...said.filter(agrees), ...booked])
  const last = said.findLast((report) => !isFee(report)) ?? ""
  const isTakenBack = (report: string) =>
    agrees(last) && !agrees(report) && (isReturn(last) || isReturn(report)) && !isListed(last) && !isListed(report)
  const known = [...reports].filter((report) => !isTakenBack(report))
  return { said: [], saidAtOpening: [], ruling: { outcome, known: known.slice(-REPORTS_AT_MOST) } }
}

/** Whether a ruling on a charge leaves less of it in the float than came in. */
const booksLess = (
  record: Transaction,
  outcome: "successful" | "failed",
  found: MinorUnits | null,
  fee: MinorUnits | null
): boolean =>
  record.kind === "collection" &&
  (outcome === "failed" || (found !== null && found < movedBy(record, null)) || (fee !== null && fee > (record.fees ?? ZERO)))

/** Opens a review because polling ended without an outcome. */
export const sentToReview = <R extends Transaction>(record: R, at: Instant): R => ({
  ...record,
  needsReview: true,
  saidAtOpening: record.said ?? [],
  version: record.version + 1,
  updatedAt: at
})

/** Books nothing for a fact that the float cannot hold, and opens a review. */
export const leftToAPerson = <R extends Transaction>(record: R, fact: Fact, at: Instant): Decision<R> =>
  unchanged(withReport(record, record.needsReview ? record : sentToReview(record, at), fact))

/** Its review was opened by this report, and the provider has reported nothing new since. */
export const isOpenedBy = ({ needsReview, said = [], saidAtOpening = [] }: Transaction, fact: Fact): boolean =>
  needsReview && saidAtOpening.at(-1) === reportOf(fact) && said.every((report) => saidAtOpening.includes(report))

export const isKnownToRuling = ({ ruling }: Transaction, fact: Fact): boolean => {
  const report = reportOf(fact)
  return report !== null && ruling?.known.includes(report) === true
}

/** Opens a review, unless the last ruling knew the same report. `shown` is the record with the fields that the tenant sees. */
export const flagged = <R extends Transaction>(record: R, fact: Fact, at: Instant, shown: R = record): Decision<R> => {
  if (isKnownToRuling(record, fact)) return unchanged(record)
  return record.needsReview && shown === record
    ? unchanged(record)
    : unchanged({ ...shown, needsReview: true, version: record.version + 1, updatedAt: at })
}

/** Whether it failed without certainty from the provider. A provider that still has it under way contradicts such a failure. */
export const failedUnsurely = ({ doubtedSince, failedBy }: Transaction): boolean =>
  failedBy !== "provider" || doubtedSince !== undefined

/** Whether a person ruled that no money moved, or that all of it came back. */
export const personRuledFailed = ({ ruling }: Transaction): boolean => ruling?.outcome === "failed"

/** Whether a success reports figures other than the record's. A figure that is not reported contradicts nothing. */
export const differs = (fact: Extract<Fact, { _tag: "Succeeded" }>, amount: bigint, currency: string): boolean =>
  (fact.amount !== null && fact.amount !== amount) || (fact.currency !== null && fact.currency !== currency)
