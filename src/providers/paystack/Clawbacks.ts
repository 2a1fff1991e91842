import { iso } from "../../domain/Instant.ts"
import type { ClawbackQuery } from "../../services/ports/ProviderClawbacks.ts"
import { clawbackIn, clawbackList, clawbackStates, clawbacksOf } from "../Clawbacks.ts"
import type { Connection } from "../Connection.ts"
import { subunits } from "./Amounts.ts"
import { ClawbacksAnswer, Dispute, ownReference, Refund } from "./Wire.ts"

const PAGE_SIZE = 100

/** Disputes of charges and refunds, including those that we did not make. */
export const clawbacks = (connection: Connection) => clawbacksOf(connection, disputes, refunds)

const paged =
  (path: string) =>
  ({ providerReference, since, until }: ClawbackQuery, page: number): string =>
    `${path}?${new URLSearchParams({
      from: iso(since),
      to: iso(until),
      perPage: String(PAGE_SIZE),
      page: String(page),
      ...(providerReference === null ? {} : { transaction: providerReference })
    })}`

const shared = {
  schema: ClawbacksAnswer,
  rows: ({ data }: typeof ClawbacksAnswer.Type) => data,
  isLast: ({ data }: typeof ClawbacksAnswer.Type) => data.length < PAGE_SIZE
}

type Named = { readonly reference?: string | null | undefined; readonly id?: string | null | undefined } | null | undefined

const chargeOf = (charge: Named, reference: string | null | undefined) => ({
  reference: ownReference(reference ?? charge?.reference ?? ""),
  providerReference: charge?.id ?? null
})

const disputes = clawbackList({
  ...shared,
  operation: "disputes",
  path: paged("/dispute"),
  row: Dispute,
  clawbackOf: ({ category: reason, currency, dueAt: answerBy, id, refund_amount: amount, resolution, status, transaction }) => ({
    ...chargeOf(transaction, null),
    factIn: clawbackIn(
      {
        by: "dispute",
        id,
        state: disputeState(status, resolution ?? ""),
        status: [status, resolution ?? ""].filter((word) => word !== "").join(" "),
        amount,
        currency,
        reason,
        answerBy
      },
      subunits
    )
  })
})

/** `declined`: the dispute was declined, and we keep the money. */
const resolutionState = clawbackStates({ taken: ["merchant-accepted", "auto-accepted"], kept: ["declined"] })

const openDisputes: ReadonlySet<string> = new Set(["awaiting-merchant-feedback", "awaiting-bank-feedback", "pending"])

const disputeState = (status: string, resolution: string) => {
  if (openDisputes.has(status)) return "open"
  return ["resolved", "archived"].includes(status) ? resolutionState(resolution) : undefined
}

const refunds = clawbackList({
  ...shared,
  operation: "refunds",
  path: paged("/refund"),
  row: Refund,
  clawbackOf: ({ amount, currency, id, status, transaction, transaction_reference }) => ({
    ...chargeOf(typeof transaction === "string" ? { id: transaction } : transaction, transaction_reference),
    factIn: clawbackIn({ by: "refund", id, state: refundState(status), status, amount, currency }, subunits)
  })
})

const refundState = clawbackStates({
  open: ["pending", "processing", "needs-attention"],
  taken: ["processed"],
  kept: ["failed"]
})
