import { type ProviderRefusal, refusalOf } from "../Reading.ts"
import { notAdmitted } from "./Reading.ts"

export type Kind = "payout" | "collection" | "exchange"

const other = refusalOf("other", "provider_rejected", "The provider refused it.")

const shared = [
  [400, other],
  [401, notAdmitted],
  [403, notAdmitted]
] as const

// By HTTP status, which is all there is: Eversend has no codes, and its texts change. A status that is not here is no refusal that
// can be believed.
export const refusals: Readonly<Record<Kind, ReadonlyMap<number, ProviderRefusal>>> = {
  payout: new Map([
    ...shared,
    // The shared wallet is short, and that is nobody's own: `insufficient_funds` would be said of the tenant's float or of a payer.
    [
      402,
      refusalOf(
        "pool",
        "provider_rejected",
        "The provider cannot pay it out now.",
        "Eversend refuses a payout: is the wallet there empty?"
      )
    ],
    [404, refusalOf("party", "invalid_destination", "The provider does not know the recipient's account.")]
  ]),
  collection: new Map([
    ...shared,
    [402, other],
    [404, refusalOf("party", "payer_not_found", "The provider does not know the payer.")]
  ]),
  exchange: new Map([
    ...shared,
    [
      402,
      refusalOf(
        "pool",
        "provider_rejected",
        "The provider cannot exchange it now.",
        "Eversend refuses an exchange: is the wallet there empty?"
      )
    ],
    [404, other]
  ])
}

/**
 * What a failed transaction is told as. Its status alone decides that it failed; the reason beside it, where it is word for word one of
 * these, only chooses the code that the tenant reads.
 */
export const failureBy = (kind: Kind, reason: string | null | undefined): ProviderRefusal =>
  (kind === "collection" ? reasons.get(reason?.toLowerCase() ?? "") : undefined) ?? failures[kind]

const reasons: ReadonlyMap<string, ProviderRefusal> = new Map([
  ["payment was declined by the payer", refusalOf("party", "declined_by_payer", "The payer declined the payment.")],
  ["charge was rejected", other]
])

const failures: Readonly<Record<Kind, ProviderRefusal>> = {
  payout: refusalOf("other", "provider_rejected", "The provider could not deliver it."),
  // Declined, no balance, no answer: most of Eversend's texts do not tell them apart.
  collection: refusalOf("other", "unknown", "The payment was not made; the provider does not say why."),
  exchange: refusalOf("other", "provider_rejected", "The provider did not exchange it.")
}
