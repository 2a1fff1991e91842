import type { Fact, RefusalKind } from "../domain/Fact.ts"
import type { FailureCode } from "../domain/Payment.ts"
import type { FactWithAlarm } from "./AnswerParsing.ts"
import type { ProviderResponse } from "./Transport.ts"

export type Refused = Extract<Fact, { _tag: "Refused" }>

/** Why a provider did not do it, as a row of a provider's table. */
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

/** Our key, our account or our address: nothing was executed. */
export const accountRefused = (alarm: string): ProviderRefusal =>
  refusalOf("config", "provider_rejected", "The provider does not accept the gateway's account.", alarm)

/** Nothing is sent: a corridor leads to a provider that does not serve it. `message` is the tenant's, `why` the operator's. */
export const misroutedTo = (provider: string, message: string, why: string): FactWithAlarm<Refused> =>
  refusedBy(
    refusalOf("config", "provider_rejected", message, `a corridor leads to ${provider}, which cannot serve it: ${why}`),
    null,
    why
  )

/** The pool is short: our own wallet at the provider. `insufficient_funds` would be said of a float or of a payer. */
export const poolShort = (alarm: string): ProviderRefusal =>
  refusalOf("pool", "provider_rejected", "The provider cannot pay it out now.", alarm)

// A refusal that several providers give in the same words.
export const refusedUnsaid = refusalOf("other", "provider_rejected", "The provider refused it.")
export const undelivered = refusalOf("other", "provider_rejected", "The provider could not deliver it.")
export const unknownRecipient = refusalOf("party", "invalid_destination", "The provider does not know the recipient's account.")
/** Declined, no balance, no answer: nothing that code may rely on tells them apart. */
export const notPaid = refusalOf("other", "unknown", "The payment was not made; the provider does not say why.")

/** The row of a code; a code that is no row, `toString` among them, has none. */
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

/** The proof that the HTTP status of an answer in the provider's own form gives: a status that is not in the table refuses nothing. */
export const refusedByStatus = (
  refusals: ReadonlyMap<number, ProviderRefusal>,
  response: ProviderResponse,
  isOwnForm: boolean
): FactWithAlarm<Refused> | undefined => {
  const known = response._tag === "Answered" && isOwnForm ? refusals.get(response.status) : undefined
  return known === undefined || response._tag !== "Answered" ? undefined : refusedBy(known, null, `HTTP ${response.status}`)
}
