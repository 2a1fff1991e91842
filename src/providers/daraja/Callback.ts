import { Effect, Option, Schema } from "effect"
import { isReference } from "../../domain/Ids.ts"
import type { Callbacks, RawCallback } from "../../services/ports/Provider.ts"
import type { CallbackHint } from "../../services/ports/ProviderInbox.ts"
import { bodyDecoder } from "../CallbackVerification.ts"
import { type Account, instantOf } from "./Client.ts"
import { standingBy } from "./Translate.ts"
import { ChargeCallback, Confirmation, isAccountReference, Result } from "./Wire.ts"

/**
 * Safaricom signs nothing. Each result goes to an address of its own, which only its request has named; the confirmations of a paybill go to the
 * account's. A result of a charge or a payout is a reason to ask; the answer to a question waits for whoever asked. A confirmation of a payment
 * that is none of ours is refused, and nothing of it is kept.
 */
export const darajaCallbacks = ({ addresses, settings }: Pick<Account, "addresses" | "settings">): Callbacks => {
  const paymentIn = (body: RawCallback["body"]) =>
    Option.filter(
      Option.map(confirmed(body), (one) => ({ ...one, bill: one.BillRefNumber.trim().toUpperCase() })),
      ({ BusinessShortCode, TransTime, bill }) =>
        [settings.shortcode, settings.till].includes(BusinessShortCode) &&
        isAccountReference(bill) &&
        instantOf(TransTime) !== null
    )
  return {
    verify: ({ body, path }) => {
      const purpose = addresses.purposeOf(path)
      if (purpose === undefined) return Option.as(paymentIn(body), answer)
      return Option.flatMap(purpose, ({ id, kind }) => hintOf(kind, id, body))
    },
    keep: ({ body, path }) =>
      Option.match(addresses.purposeOf(path) ?? Option.none(), {
        onSome: ({ id, kind }) => addresses.keep(kind, id, body),
        onNone: () =>
          Option.match(paymentIn(body), {
            onNone: () => Effect.void,
            onSome: ({ TransAmount, TransID, TransTime, bill }) =>
              addresses.keep("bill", addresses.hidden(bill), JSON.stringify({ TransAmount, TransID, TransTime }))
          })
      })
  }
}

const charge = bodyDecoder(ChargeCallback)
const result = bodyDecoder(Result)
const anything = bodyDecoder(Schema.Unknown)
const confirmed = bodyDecoder(Confirmation)

const answer: CallbackHint = { reference: null, providerReference: null, isAnswer: true }

const hintOf = (kind: string, id: string, body: RawCallback["body"]): Option.Option<CallbackHint> => {
  if (kind === "status" || kind === "balance") return Option.as(result(body), answer)
  if (!isReference(id)) return Option.none()
  const hint = (says: ReturnType<typeof standingBy>): CallbackHint => ({
    reference: id,
    providerReference: null,
    ...(says === undefined ? {} : { says })
  })
  if (kind === "charge")
    return Option.map(charge(body), ({ Body }) => hint(standingBy("collection", Body.stkCallback.ResultCode)))
  if (kind === "payout")
    return Option.map(result(body), ({ Result: { ResultCode, ResultType } }) =>
      hint(ResultType === "1" ? "pending" : standingBy("payout", ResultCode))
    )
  return Option.as(anything(body), hint(undefined))
}
