import { notAdmitted, type Refusal } from "./Reading.ts"

export type Kind = "payout" | "collection" | "exchange"

const other: Refusal = { kind: "other", code: "provider_rejected", message: "The provider refused it.", alarm: null }

// By HTTP status, which is all there is: Eversend has no codes, and its texts change. A status that is not here is no refusal that
// can be believed.
export const refusals: Readonly<Record<Kind, ReadonlyMap<number, Refusal>>> = {
  payout: new Map([
    [400, other],
    [401, notAdmitted],
    // The shared wallet is short, and that is nobody's own: `insufficient_funds` would be said of the tenant's float or of a payer.
    [
      402,
      {
        kind: "pool",
        code: "provider_rejected",
        message: "The provider cannot pay it out now.",
        alarm: "Eversend refuses a payout: is the wallet there empty?"
      }
    ],
    [403, notAdmitted],
    [
      404,
      { kind: "party", code: "invalid_destination", message: "The provider does not know the recipient's account.", alarm: null }
    ]
  ]),
  collection: new Map([
    [400, other],
    [401, notAdmitted],
    [402, other],
    [403, notAdmitted],
    [404, { kind: "party", code: "payer_not_found", message: "The provider does not know the payer.", alarm: null }]
  ]),
  exchange: new Map([
    [400, other],
    [401, notAdmitted],
    [
      402,
      {
        kind: "pool",
        code: "provider_rejected",
        message: "The provider cannot exchange it now.",
        alarm: "Eversend refuses an exchange: is the wallet there empty?"
      }
    ],
    [403, notAdmitted],
    [404, other]
  ])
}

/**
 * What a failed transaction is told as. Its status alone decides that it failed; the reason beside it, where it is word for word one of
 * these, only chooses the code that the tenant reads.
 */
export const failureBy = (kind: Kind, reason: string | null | undefined): Refusal =>
  (kind === "collection" ? reasons.get(reason?.toLowerCase() ?? "") : undefined) ?? failures[kind]

const reasons: ReadonlyMap<string, Refusal> = new Map([
  [
    "payment was declined by the payer",
    { kind: "party", code: "declined_by_payer", message: "The payer declined the payment.", alarm: null }
  ],
  ["charge was rejected", other]
])

const failures: Readonly<Record<Kind, Refusal>> = {
  payout: { kind: "other", code: "provider_rejected", message: "The provider could not deliver it.", alarm: null },
  // Declined, no balance, no answer: most of Eversend's texts do not tell them apart.
  collection: {
    kind: "other",
    code: "unknown",
    message: "The payment was not made; the provider does not say why.",
    alarm: null
  },
  exchange: { kind: "other", code: "provider_rejected", message: "The provider did not exchange it.", alarm: null }
}
