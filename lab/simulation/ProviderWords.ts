import type { Currency } from "../../src/domain/Currency.ts"
import { type MinorUnits, minor } from "../../src/domain/Money.ts"
import type { PayoutQuote, StatusOutcome } from "../../src/services/ports/Provider.ts"
import { MINUTE, type Movement, PAYOUT_FEE } from "./Movement.ts"

// What the simulated providers say, in the words of the gateway's port.

export const unseen = { observedAmount: null, observedCurrency: null } as const
export const lost = { _tag: "Unknown", reason: "timeout", note: "no answer" } as const

/** The reference is known there; what became of it has to be asked. */
export const duplicate = { _tag: "Unknown", reason: "bad_response", note: "duplicate reference" } as const

export const redirected = (reference: string) =>
  ({
    _tag: "NeedsRedirect",
    ...unseen,
    providerReference: reference,
    redirectUrl: "https://pay.example/",
    note: "a page of the provider"
  }) as const

export const refused = (note: string, providerReference: string | null = null) =>
  ({
    _tag: "Refused",
    providerReference,
    kind: "party",
    failure: { code: "provider_rejected", message: "refused" },
    note
  }) as const

export const quoted = (amount: MinorUnits, currency: Currency): PayoutQuote => ({
  principal: amount,
  fee: minor(PAYOUT_FEE),
  destinationAmount: amount,
  destinationCurrency: currency,
  rate: null,
  expiresInMs: 30 * MINUTE,
  token: ""
})

/** Shillings of Uganda, which have no smaller unit, buy cents of Kenya: three hundredths of a shilling each. */
export const brought = (amount: bigint): { readonly destinationAmount: MinorUnits; readonly rawDestinationAmount: string } => ({
  destinationAmount: minor(amount * 3n),
  rawDestinationAmount: inKes(amount * 3n)
})

const inKes = (cents: bigint): string => `${cents / 100n}.${(cents % 100n).toString().padStart(2, "0")}`

export const succeeded = (movement: Movement) => ({
  _tag: "Succeeded" as const,
  providerReference: movement.reference,
  amount: minor(movement.amount),
  currency: "UGX" as const,
  fee: movement.kind === "exchange" ? null : minor(movement.fee),
  ...(movement.brings === null
    ? {}
    : { exchanged: { amount: minor(movement.brings.amount), currency: "KES" as const, raw: inKes(movement.brings.amount) } }),
  note: ""
})

/** What is true of a movement at a time. */
export const executed = (movement: Movement, now: number): StatusOutcome => {
  const { amount, fee, outcome, reference, returnsAt, settlesAt } = movement
  if (now < settlesAt) return { _tag: "StillPending", providerReference: reference, note: "" }
  if (outcome === "failed") return refused("failed", reference)
  if (returnsAt === null || now < returnsAt) return succeeded(movement)
  return {
    _tag: "Returned",
    amount: minor(amount),
    currency: "UGX",
    fee: minor(0n),
    charged: minor(fee),
    at: returnsAt,
    note: ""
  }
}
