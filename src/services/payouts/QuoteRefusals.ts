import { type Issue, ValidationFailed } from "../../domain/errors/Terminal.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { QuoteRefused } from "../ports/Provider.ts"
import { isOfNetworkLimits } from "../routing/NetworkLimits.ts"

/** A definite refusal to quote: a retry would not change it. */
export const unquoted = ({ kind }: QuoteRefused): ValidationFailed => new ValidationFailed({ issues: [quoteIssues[kind]] })

const quoteIssues = {
  party: { path: "destination", message: "is not known to the provider" },
  inactive: { path: "destination.msisdn", message: "has no active account of its network" },
  no_recipient: { path: "destination", message: "is not known to the provider" },
  too_little: { path: "amount_minor", message: "is not an amount that the provider quotes" },
  too_much: { path: "amount_minor", message: "is not an amount that the provider quotes" },
  amount: { path: "amount_minor", message: "is not an amount that the provider quotes" },
  other: { path: "", message: "the provider refuses to quote this payout" }
} as const satisfies Record<QuoteRefused["kind"], Issue>

/** Refused by the account's limits, without a call. */
export const outside = (kind: QuoteRefused["kind"]): QuoteRefused => ({
  _tag: "QuoteRefused",
  kind,
  note: "outside of what the account takes for the network"
})

export const withoutRecipient: QuoteRefused = {
  _tag: "QuoteRefused",
  kind: "no_recipient",
  note: "the order of the providers is known with the recipient"
}

export const uncountable = (fee: MinorUnits): QuoteRefused => ({
  _tag: "QuoteRefused",
  kind: "too_much",
  note: "amount and fee are more than can be counted",
  fee
})

/**
 * Whether the next provider is asked for a quote: after no usable response, when this provider cannot serve the payout at all,
 * or when its account's limits for the network exclude the amount. Its refusal of the amount or the recipient is final.
 */
export const goesToNextProvider = (error: { readonly _tag: string; readonly kind?: string }): boolean =>
  error._tag === "provider_error" || (error._tag === "QuoteRefused" && error.kind === "other") || isOfNetworkLimits(error)
