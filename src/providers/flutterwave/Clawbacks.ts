import { isReference } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import type { ClawbackQuery } from "../../services/ports/ProviderClawbacks.ts"
import { clawbackIn, clawbackList, clawbackStates, clawbacksOf } from "../Clawbacks.ts"
import type { Connection } from "../Connection.ts"
import { Chargeback, Listed, Refund } from "./Wire.ts"

/** Chargebacks and refunds, including those that we did not make. Neither list can be filtered by charge. */
export const clawbacks = (connection: Connection) => clawbacksOf(connection, chargebacks, refunds)

const DAY_LENGTH = "2026-01-31".length

const paged =
  (path: string) =>
  ({ since, until }: ClawbackQuery, page: number): string =>
    `${path}?${new URLSearchParams({
      from: iso(since).slice(0, DAY_LENGTH),
      to: iso(until).slice(0, DAY_LENGTH),
      page: String(page)
    })}`

const shared = {
  schema: Listed,
  rows: ({ data }: typeof Listed.Type) => data,
  /** Without a page count there is only one page, because nothing says that another would differ. */
  isLast: ({ meta }: typeof Listed.Type, page: number) => meta === undefined || page >= Number(meta.page_info.total_pages)
}

const chargebacks = clawbackList({
  ...shared,
  operation: "chargebacks",
  path: paged("/chargebacks"),
  row: Chargeback,
  clawbackOf: ({ amount, currency, id, stage: reason, status, transaction_id, tx_ref }) => ({
    reference: isReference(tx_ref) ? tx_ref : null,
    providerReference: transaction_id ?? null,
    factIn: clawbackIn({ by: "dispute", id, state: chargebackState(status), status, amount, currency, reason })
  })
})

/** `declined`: we contested it. */
const chargebackState = clawbackStates({
  open: ["initiated", "pending", "declined"],
  taken: ["accepted", "lost"],
  kept: ["won", "reversed"]
})

const refunds = clawbackList({
  ...shared,
  operation: "refunds",
  path: paged("/refunds"),
  row: Refund,
  clawbackOf: ({ AmountRefunded, TransactionId, amount_refunded, id, meta, status: written, tx_id }) => {
    const disbursed = disbursedIn(meta)
    const status = [written ?? "not said", disbursed].filter((word) => word !== "").join(" ")
    return {
      reference: null,
      providerReference: tx_id ?? TransactionId ?? null,
      factIn: clawbackIn({
        by: "refund",
        id,
        state: disbursed === "" ? refundState(written) : disbursementState(disbursed),
        status,
        amount: amount_refunded ?? AmountRefunded,
        currency: null
      })
    }
  }
})

const disbursedIn = (meta: unknown): string =>
  typeof meta === "object" && meta !== null && "disburse_status" in meta ? String(meta.disburse_status ?? "") : ""

const disbursementState = clawbackStates({ taken: ["successful"], kept: ["failed"] })

/** `completed` means only that it was initiated. */
const refundState = clawbackStates({
  open: ["new", "pending", "pending-momo", "processing", "completed"],
  taken: ["completed-bank-transfer", "completed-momo", "completed-mpgs", "completed-offline", "completed-preauth", "successful"],
  kept: ["failed"]
})
