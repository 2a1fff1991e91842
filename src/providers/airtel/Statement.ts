import { isReference } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { sumOf } from "../ProviderStatus.ts"
import { lineOf, windowedList } from "../Statements.ts"
import { standingOf } from "./Translate.ts"
import { SUMMARY_PATH, SummaryAnswer, SummaryRow } from "./Wire.ts"

const PAGE_SIZE = 50
/** The type of a collection. Whether disbursements are listed, and under which type, is unknown (README.md). */
const COLLECTED = "MERCHPAY"

/** A country's collections that began on a UTC day: the only list with amount, fee and payer. */
export const summary = windowedList({
  operation: "statement",
  path: (from, until) =>
    `${SUMMARY_PATH}?${new URLSearchParams({ from: String(from), to: String(until), limit: String(PAGE_SIZE), offset: "0" })}`,
  schema: SummaryAnswer,
  rows: ({ data }) => data.transactions,
  isFull: ({ data }) => data.transactions.length >= PAGE_SIZE || Number(data.count ?? 0) > data.transactions.length,
  row: SummaryRow,
  members: {
    id: "id",
    reference: "reference",
    currency: ["currency"],
    status: ["service", "transaction"],
    sum: ["transaction"],
    beganAt: ["transaction"]
  },
  lineOf: ({ charges, payee, payer, service, transaction }) => {
    const { amount, created_at, id, reference_number, status } = transaction
    const currency = payee?.currency ?? payer?.currency
    const line = lineOf({
      direction: "collection",
      providerReference: id,
      reference: isReference(reference_number) ? reference_number : null,
      currency,
      standing: service?.type === COLLECTED ? standingOf(status) : undefined,
      sum: sumOf({ amount, currency, fee: charges?.service }),
      beganAt: /^\d{12,14}$/.test(created_at) ? iso(Number(created_at)) : undefined
    })
    // Airtel reverses a charge completely (README.md), and shows it in the charge's own row.
    return typeof line === "string" || line.status !== "returned" ? line : { ...line, refundOf: [id] }
  }
})
