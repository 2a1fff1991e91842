import { Effect } from "effect"
import type { ComponentChild } from "preact"
import type { Currency } from "../domain/Currency.ts"
import { isReference } from "../domain/Ids.ts"
import type { Transaction } from "../domain/Transaction.ts"
import { type Transactions } from "../services/ports/Transactions.ts"
import { badge, type Tone } from "./Elements.ts"
import { type Visit } from "./Route.ts"

const tones: { readonly [S in Transaction["status"]]: Tone } = {
  requires_action: "wait",
  pending: "wait",
  successful: "good",
  failed: "bad",
  expired: "quiet"
}

export const statusTone = (status: string): Tone => Object.entries(tones).find(([name]) => name === status)?.[1] ?? "quiet"

export const statusBadge = ({ status }: { readonly status: Transaction["status"] }): ComponentChild =>
  badge(status.replace("_", " "), tones[status])

export const partyName = ({ kind }: Transaction): string => (kind === "collection" ? "Payer" : "Recipient")

/** The payer or the recipient, masked; null for an exchange. */
export const partyOf = (record: Transaction): string | null => {
  switch (record.kind) {
    case "payout":
      return record.maskedDestination
    case "collection":
      return record.maskedSource
    case "exchange":
      return null
  }
}

/** The currency of the amount that the tenant requested. */
export const amountCurrencyOf = (record: Transaction): Currency =>
  record.kind === "exchange" ? record.currency : record.amountCurrency

/** Finds the record that an address names as `:reference`. */
export const recordFinder =
  (transactions: Pick<Transactions["Service"], "byReference">) =>
  ({ params }: Visit) => {
    const reference = params["reference"] ?? ""
    return isReference(reference) ? transactions.byReference(reference) : Effect.succeedNone
  }
