import { Effect, Option, Schema } from "effect"
import { isReference } from "../../domain/Ids.ts"
import type { CallbackRegistration, Callbacks, RawCallback } from "../../services/ports/Provider.ts"
import type { CallbackHint } from "../../services/ports/ProviderInbox.ts"
import { decoded } from "../AnswerParsing.ts"
import { bodyDecoder } from "../CallbackVerification.ts"
import { deadlineAfter } from "../Client.ts"
import { isPublicName } from "../OwnAddresses.ts"
import { type Account, placesOf } from "./Client.ts"
import { errorCodeOf } from "./Refusals.ts"
import { standingBy } from "./Translate.ts"
import { ChargeCallback, Confirmation, isAccountReference, paths, RegisterAnswer, Result } from "./Wire.ts"

/**
 * Safaricom signs nothing. Each result is sent to an address that only its request has named; a paybill's confirmations go to
 * the address that was registered for them. Nothing is sent to the account's own address, which others may learn. A result of a
 * charge or payout triggers a poll; the answer to a query is stored for its reader. A confirmation of a payment that is not
 * ours is acknowledged too, because a paybill gets others, and nothing of it is stored.
 */
export const darajaCallbacks = (account: Account): Callbacks => {
  const { addresses, settings } = account
  const paymentIn = (body: RawCallback["body"]) =>
    Option.filter(
      Option.map(confirmed(body), (one) => ({ ...one, bill: one.BillRefNumber.trim().toUpperCase() })),
      ({ BusinessShortCode, bill }) => [settings.shortcode, settings.till].includes(BusinessShortCode) && isAccountReference(bill)
    )
  // A receipt belongs to the first bill that named it, and a bill keeps its first receipts.
  const keepPayment = Effect.fnUntraced(function* ({ TransID, bill }: { readonly TransID: string; readonly bill: string }) {
    if (!(yield* addresses.owned("owner", addresses.hidden(TransID), bill))) return
    for (const place of placesOf(account, bill)) if (yield* addresses.owned("bill", place, TransID)) return
    yield* Effect.logError("more payments name a charge at M-Pesa than are kept: those after them are seen in its statement only")
  })
  return {
    verify: (callback) =>
      Option.flatMap(addresses.purposeOf(callback.path), ({ id, kind }) =>
        kind === "confirm" ? Option.as(confirmed(callback.body), answer) : hintOf(kind, id, callback.body)
      ),
    keep: (callback) =>
      Option.match(addresses.purposeOf(callback.path), {
        onNone: () => Effect.void,
        onSome: ({ id, kind }) =>
          kind === "confirm"
            ? Option.match(paymentIn(callback.body), { onNone: () => Effect.void, onSome: keepPayment })
            : addresses.keep(kind, id, callback.body)
      }),
    registration: registrationOf(account)
  }
}

/** Safaricom registers one pair of addresses per paybill, once; only its portal can change them. */
const registrationOf = ({ addresses, client, settings }: Account): CallbackRegistration => {
  const { shortcode, timeoutMs } = settings
  const own = { ConfirmationURL: addresses.of("confirm", shortcode), ValidationURL: addresses.of("validate", shortcode) }
  const isRegistered = Effect.map(addresses.kept("registered", shortcode), Option.contains<unknown>(own.ConfirmationURL))
  const body = { ShortCode: shortcode, ResponseType: "Completed", ...own }
  return {
    addresses: own,
    isRegistered,
    register: Effect.gen(function* () {
      if (!isPublicName(own.ConfirmationURL)) return refused("its CALLBACK_URL is no https address that Safaricom could reach")
      const call = { operation: "register", method: "POST", path: paths.register, body } as const
      const response = yield* client(call, yield* deadlineAfter(timeoutMs))
      if (Option.exists(decoded(RegisterAnswer, response), ({ ResponseCode }) => /^0+$/.test(ResponseCode))) {
        yield* addresses.keep("registered", shortcode, JSON.stringify(own.ConfirmationURL))
        return { result: "registered", note: `Safaricom took them for ${shortcode}` }
      }
      const code = errorCodeOf(response)
      if (code !== STANDING) return refused(response._tag === "Answered" ? `HTTP ${response.status}, ${code}` : response.note)
      return (yield* isRegistered)
        ? { result: "registered", note: `Safaricom has addresses for ${shortcode} already, and this gateway registered these` }
        : refused(
            `Safaricom has addresses for ${shortcode}, others or these from a call that had no answer, or failed (${code}): look in its portal, under URL management`
          )
    })
  }
}

/** Also returned for an internal error of Safaricom's. */
const STANDING = "500.003.1001"
const refused = (note: string) => ({ result: "refused", note }) as const

const charge = bodyDecoder(ChargeCallback)
const result = bodyDecoder(Result)
const anything = bodyDecoder(Schema.Unknown)
const confirmed = bodyDecoder(Confirmation)

const answer: CallbackHint = { reference: null, providerReference: null, isAnswer: true }

const hintOf = (kind: string, id: string, body: RawCallback["body"]): Option.Option<CallbackHint> => {
  if (kind === "status" || kind === "balance") return Option.as(result(body), answer)
  if (kind === "validate") return Option.as(anything(body), answer)
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
