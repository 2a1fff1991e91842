import { Effect } from "effect"
import type {
  ChargeOrder,
  ChargeOutcome,
  PayoutOrder,
  PayoutOutcome,
  ProviderGuarantees,
  StatusQuery
} from "../../services/ports/Provider.ts"
import { bearerClient } from "../Client.ts"
import { adapterOf, type Connection, connectionTo } from "../Connection.ts"
import { chargesBy, expectedOf, lookingBy, type MoneyCallAnswer, payableFor, payoutsBy } from "../Movements.ts"
import { QUOTE_LIFE_MS, quotingBy } from "../Quotes.ts"
import type { ProviderResponse } from "../Transport.ts"
import { paystackCallbacks } from "./Callback.ts"
import { clawbacks } from "./Clawbacks.ts"
import type { PaystackSettings } from "./Client.ts"
import { chargedParty, recipientBody, resolvingCountries } from "./Networks.ts"
import { chargeBody, checkChargePath, submitBody, transferBody, verifyChargePath, verifyTransferPath } from "./Order.ts"
import { quoteOf } from "./Quote.ts"
import { referenceData } from "./Reference.ts"
import { identity, unreachable, withoutVoucher } from "./Refusals.ts"
import { statement } from "./Statement.ts"
import {
  chargeFound,
  chargeOutcome,
  lookupOfRefusedCharge,
  recipientIn,
  transferFound,
  transferOutcome,
  voucherOutcome
} from "./Translate.ts"

/** A reference that was used before is refused, for charges and transfers; both are looked up by it. */
const guarantees: ProviderGuarantees = {
  clientReference: "unique_reject",
  lookup: "by_client_ref",
  callbackAuth: "hmac",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 60_000,
  bankAccountCountries: resolvingCountries
}

/** For the prompt, by Paystack's documentation of mobile money. */
const PROMPT_MS = 180_000
/** For a page of Wave's, whose documentation shows sessions of one day. Paystack closes none. */
const PAGE_MS = 86_400_000
const lifeOf = ({ charge }: StatusQuery): number => (charge?.network === "WAVE" ? PAGE_MS : PROMPT_MS)

/** One integration at Paystack. A call takes at most `timeoutMs`; the lookup after a refusal, or a voucher, takes as long again. */
export const paystack = adapterOf(identity, guarantees, function* (settings: PaystackSettings, transport) {
  const { baseUrl, emailDomain, fees, secretKey, timeoutMs } = settings
  const connection = connectionTo(identity, bearerClient(baseUrl, secretKey, transport), timeoutMs)
  return {
    callbacks: paystackCallbacks(secretKey),
    payouts: {
      quote: quotingBy((order, now) => quoteOf(order, fees, now)),
      ...payoutsBy(connection, {
        place: transferring(connection),
        look: lookingBy(connection, "transfer_verify", verifyTransferPath, transferFound)
      })
    },
    collections: {
      reachesNetwork: (payer, currency) => chargedParty(payer, currency) !== undefined,
      ...chargesBy(connection, {
        place: charging(connection, emailDomain),
        look: payableFor(lifeOf, lookingBy(connection, "transaction_verify", verifyChargePath, chargeFound))
      }),
      clawbacks: clawbacks(connection)
    },
    reference: referenceData(connection),
    statement: statement(connection)
  }
})

/** A transfer needs a recipient first, within the same deadline. */
const transferring = ({ client, deadline }: Connection) =>
  Effect.fnUntraced(function* (order: PayoutOrder): Effect.fn.Return<MoneyCallAnswer<PayoutOutcome>> {
    const body = recipientBody(order.destination, order.corridor.currency)
    if (body === undefined) return unreachable
    const until = yield* deadline
    const recipient = recipientIn(
      yield* client({ operation: "recipient", method: "POST", path: "/transferrecipient", body }, until)
    )
    if (typeof recipient !== "string") return recipient
    const call = { operation: "transfer", method: "POST", path: "/transfer", body: transferBody(order, recipient) } as const
    return transferOutcome(yield* client(call, until), expectedOf(order))
  })

/** A mobile-money charge. A network that requires a voucher gets it in a second call. */
const charging = ({ call }: Connection, emailDomain: string) => {
  /** A refusal is looked up at once, because an existing charge may still need its voucher. */
  const confirmRefusal = Effect.fnUntraced(function* (order: ChargeOrder, response: ProviderResponse) {
    const first = chargeOutcome(response, expectedOf(order))
    if (!("confirm" in first)) return first
    const looked = yield* call({ operation: "charge_check", method: "GET", path: checkChargePath(order) })
    return lookupOfRefusedCharge(looked, expectedOf(order), first)
  })

  return Effect.fnUntraced(function* (order: ChargeOrder): Effect.fn.Return<MoneyCallAnswer<ChargeOutcome>> {
    const body = chargeBody(order, emailDomain)
    if (body === undefined) return unreachable
    const { alarm, fact } = yield* confirmRefusal(
      order,
      yield* call({ operation: "charge", method: "POST", path: "/charge", body })
    )
    if (fact._tag !== "VoucherMissing") return { fact, alarm }
    if (order.otp === null) return withoutVoucher(fact.note)
    const voucher = { operation: "submit_otp", method: "POST", path: "/charge/submit_otp", body: submitBody(order) } as const
    return voucherOutcome(yield* call(voucher), expectedOf(order))
  })
}
