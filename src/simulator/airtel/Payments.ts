import { Effect, Option, Redacted, Schema } from "effect"
import type { PaymentKind } from "../../domain/Payment.ts"
import type { Version } from "../../providers/airtel/Wire.ts"
import { WrittenAmount } from "../../providers/WireNumber.ts"
import { create, onceById } from "../Call.ts"
import { endingOf, wholeOrNothing } from "../Endings.ts"
import { collectionFee, payoutFee } from "../Fees.ts"
import { decimalOr, Stop } from "../Responses.ts"
import { type Call, decodeBody, errors, json, refuse, succeeded, turnAway } from "./Responses.ts"
import { decrypted, isSigned } from "./Signature.ts"
import { movement, receiptOf } from "./Transactions.ts"

const Id = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9-]{4,64}$/))
const PayerText = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9 ]{4,64}$/))
/** National format: without the country's code and without a leading 0. */
const Number = Schema.String.check(Schema.isPattern(/^[1-9]\d{6,11}$/))

// POST /merchant/v1/payments/, /merchant/v2/payments/
const PaymentRequest = Schema.Struct({
  reference: PayerText,
  subscriber: Schema.Struct({ country: Schema.String, currency: Schema.String, msisdn: Number }),
  transaction: Schema.Struct({ amount: WrittenAmount, country: Schema.String, currency: Schema.String, id: Id })
})

// POST /standard/v1/disbursements/, /standard/v2/disbursements/, /standard/v3/disbursements
const DisbursementRequest = Schema.Struct({
  payee: Schema.Struct({
    currency: Schema.optionalKey(Schema.String),
    msisdn: Number,
    name: Schema.optionalKey(Schema.String),
    wallet_type: Schema.optionalKey(Schema.Literals(["NORMAL", "SALARY"]))
  }),
  reference: PayerText,
  pin: Schema.NonEmptyString,
  transaction: Schema.Struct({ amount: WrittenAmount, id: Id, type: Schema.optionalKey(Schema.Literals(["B2C", "B2B"])) })
})

interface Requested {
  readonly kind: PaymentKind
  readonly msisdn: string
  readonly reference: string
  readonly transaction: { readonly amount: string; readonly id: string }
}

/** POST /merchant/v1/payments/, and v2, which is signed. */
export const createPayment = (version: "v1" | "v2") =>
  Effect.fnUntraced(function* (call: Call) {
    if (version === "v2" && !isSigned(call.request))
      return yield* refuse({ response_code: "DP00800001026" }, "Signature Mismatch")
    const { reference, subscriber, transaction } = yield* decodeBody(PaymentRequest, call.request)
    const { country, currency } = call.merchant.country
    if ([subscriber.country, transaction.country].some((one) => one !== country))
      return yield* turnAway("ROUTER006", "Invalid country")
    if ([subscriber.currency, transaction.currency].some((one) => one !== currency))
      return yield* turnAway("ROUTER112", "Invalid currency")
    return yield* createMovement(call, { kind: "collection", msisdn: subscriber.msisdn, reference, transaction })
  })

/** POST /standard/v1/disbursements/, v2, and v3, which is signed. */
export const createDisbursement = (version: Version) =>
  Effect.fnUntraced(function* (call: Call) {
    const { country } = call.merchant
    if ((version === "v3" || country.isSigned) && version !== "v1" && !isSigned(call.request))
      return yield* refuse({ response_code: "DP00900001018" }, "Signature Mismatch")
    const { payee, pin, reference, transaction } = yield* decodeBody(DisbursementRequest, call.request)
    if (!Option.contains(decrypted(pin, country.pinPadding), Redacted.value(country.pin)))
      return yield* turnAway("ROUTER115", "Invalid PIN")
    return yield* createMovement(call, { kind: "payout", msisdn: payee.msisdn, reference, transaction })
  })

const duplicates = {
  collection: refuse({ result_code: "ESB000041" }, "External Transaction ID already exists"),
  payout: refuse({ response_code: "DP00900001011", result_code: "521050" }, "Duplicate exttRID")
}
const wrongAmounts = {
  collection: refuse({ response_code: "DP00800001004" }, "Invalid Amount"),
  payout: refuse({ response_code: "DP00900001004" }, "Invalid Amount")
}

const createMovement = Effect.fnUntraced(function* (call: Call, { kind, msisdn, reference, transaction }: Requested) {
  const { currency } = call.merchant.country
  const { id } = transaction
  const amount = yield* decimalOr(transaction.amount, currency, wrongAmounts[kind])
  const ending = endingOf(msisdn)
  const order = {
    id,
    reference,
    kind,
    errors: errors[kind],
    ending: kind === "collection" ? wholeOrNothing(ending) : ending,
    currency,
    amount,
    fee: kind === "payout" ? payoutFee(currency, "momo", amount) : collectionFee(amount),
    ...(kind === "payout" ? { short: new Stop({ response: errors.payout.pool_short ?? errors.payout.broken }) } : {}),
    once: onceById(call, id, duplicates[kind], `${call.merchant.clientId}/${id}`),
    detail: { msisdn, receipt: receiptOf(call) }
  } as const
  return yield* create(call, order, (made) => json(kind === "payout" ? movement(kind, made) : prompted(id)))
})

/** The prompt was sent; Airtel reports that with the status of a success. */
const prompted = (id: string) => ({
  data: { transaction: { id, status: "SUCCESS" } },
  status: succeeded({ response_code: "DP00800001006" })
})
