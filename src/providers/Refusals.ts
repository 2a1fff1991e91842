import type { Fact, RefusalKind } from "../domain/Fact.ts"
import type { FailureCode } from "../domain/Payment.ts"
import type { FactWithAlarm } from "./AnswerParsing.ts"
import type { ProviderResponse } from "./Transport.ts"

export type Refused = Extract<Fact, { _tag: "Refused" }>

/** Why a provider refused, as a row of a provider's table. */
export interface ProviderRefusal {
  readonly kind: RefusalKind
  readonly code: FailureCode
  readonly message: string
  readonly alarm: string | null
}

export const refusalOf = (
  kind: RefusalKind,
  code: FailureCode,
  message: string,
  alarm: string | null = null
): ProviderRefusal => ({
  kind,
  code,
  message,
  alarm
})

/** The provider refuses our key, account or IP address: nothing was executed. */
export const accountRefused = (alarm: string): ProviderRefusal =>
  refusalOf("config", "provider_rejected", "The provider does not accept the gateway's account.", alarm)

/** Refused unsent: a corridor leads to a provider that does not serve it. `message` is for the tenant, `why` for the operator. */
export const misroutedTo = (provider: string, message: string, why: string): FactWithAlarm<Refused> =>
  refusedBy(
    refusalOf("config", "provider_rejected", message, `a corridor leads to ${provider}, which cannot serve it: ${why}`),
    null,
    why
  )

/** Our wallet at the provider is too low. `insufficient_funds` is for a float or a payer. */
export const poolShort = (alarm: string): ProviderRefusal =>
  refusalOf("pool", "provider_rejected", "The provider cannot pay it out now.", alarm)

// Refusals that several providers express in the same words.
export const refusedUnsaid = refusalOf("other", "provider_rejected", "The provider refused it.")
export const undelivered = refusalOf("other", "provider_rejected", "The provider could not deliver it.")
export const unknownRecipient = refusalOf("party", "invalid_destination", "The provider does not know the recipient's account.")
/** Declined, no balance or no response from the payer: the provider gives no reliable way to distinguish them. */
export const notPaid = refusalOf("other", "unknown", "The payment was not made; the provider does not say why.")

/** The row of a code. Own properties only, so that a code such as `toString` has none. */
export const rowOf = <Row>(table: Readonly<Record<string, Row>>, code: string): Row | undefined =>
  Object.hasOwn(table, code) ? table[code] : undefined

export const refusedBy = (
  { alarm, code, kind, message }: ProviderRefusal,
  providerReference: string | null,
  note: string
): FactWithAlarm<Refused> => ({
  fact: { _tag: "Refused", providerReference, kind, failure: { code, message }, note },
  alarm
})

/** The refusal that an HTTP status proves, in a response of the provider's own form. A status outside the table proves none. */
export const refusedByStatus = (
  refusals: ReadonlyMap<number, ProviderRefusal>,
  response: ProviderResponse,
  isOwnForm: boolean
): FactWithAlarm<Refused> | undefined => {
  const known = response._tag === "Answered" && isOwnForm ? refusals.get(response.status) : undefined
  return known === undefined || response._tag !== "Answered" ? undefined : refusedBy(known, null, `HTTP ${response.status}`)
}
