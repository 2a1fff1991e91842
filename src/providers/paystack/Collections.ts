import { Effect } from "effect"
import type { ChargeOrder, ChargeOutcome, CollectionOperations } from "../../services/ports/Provider.ts"
import type { Client, Deadline } from "../Client.ts"
import { type Reading, withoutAlarm } from "../Reading.ts"
import type { ProviderResponse } from "../Transport.ts"
import type { PaystackSettings } from "./Client.ts"
import { chargedParty } from "./Networks.ts"
import { chargeBody, checkChargePath, submitBody, verifyChargePath } from "./Order.ts"
import { unreachable } from "./Payouts.ts"
import { duplicate, isDuplicate, logAlarm } from "./Reading.ts"
import { chargeFound, chargeLooked, chargeOutcome, type VoucherMissing, withoutVoucher } from "./TranslateCharge.ts"
import { isUnconfirmed } from "./TranslateTransfer.ts"

/** Charges of mobile money; a network that wants a voucher gets it in a second call. */
export const collections = (
  client: Client,
  deadline: Deadline,
  { emailDomain }: Pick<PaystackSettings, "emailDomain">
): CollectionOperations => {
  const charge: CollectionOperations["charge"] = Effect.fn("paystack.charge")(function* (order) {
    const body = chargeBody(order, emailDomain)
    if (body === undefined) return unreachable
    const response = yield* client({ operation: "charge", method: "POST", path: "/charge", body }, yield* deadline)
    const reading = yield* confirmed(order, response)
    if (reading.fact._tag !== "VoucherMissing") return yield* logAlarm({ ...reading, fact: reading.fact }, order.reference)
    const { note } = reading.fact
    return yield* logAlarm(order.otp === null ? withoutVoucher(note) : yield* submit(order), order.reference)
  })

  /** A refusal is believed once a lookup by our reference has found nothing: the same request may have arrived before. */
  const confirmed = Effect.fnUntraced(function* (
    order: ChargeOrder,
    response: ProviderResponse
  ): Effect.fn.Return<Reading<ChargeOutcome | VoucherMissing>> {
    const first = chargeOutcome(response, own(order))
    if (!isUnconfirmed(first, response)) return first
    const call = { operation: "charge_check", method: "GET", path: checkChargePath(order) } as const
    const { alarm, fact } = chargeLooked(yield* client(call, yield* deadline), own(order))
    if (fact._tag !== "NotFound") return { fact, alarm }
    return isDuplicate(response) ? duplicate : first
  })

  /** Nothing is charged before the voucher is taken, and a refused one may be followed by another. */
  const submit = Effect.fnUntraced(function* (order: ChargeOrder): Effect.fn.Return<Reading<ChargeOutcome>> {
    const call = { operation: "submit_otp", method: "POST", path: "/charge/submit_otp", body: submitBody(order) } as const
    const response = yield* client(call, yield* deadline)
    const reading = chargeOutcome(response, own(order))
    const { alarm, fact } = reading
    if (fact._tag === "VoucherMissing" || isUnconfirmed(reading, response))
      return withoutAlarm({ _tag: "CodeRejected", note: fact.note })
    return { fact, alarm }
  })

  const fetchStatus: CollectionOperations["fetchStatus"] = Effect.fn("paystack.ask")(function* (order) {
    const call = { operation: "transaction_verify", method: "GET", path: verifyChargePath(order) } as const
    const response = yield* client(call, yield* deadline)
    return yield* logAlarm(chargeFound(response, order), order.reference)
  })

  return { reachesNetwork: (payer, currency) => chargedParty(payer, currency) !== undefined, charge, fetchStatus }
}

const own = ({ corridor, reference }: ChargeOrder) => ({ reference, currency: corridor.currency })
