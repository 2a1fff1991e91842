import { Effect } from "effect"
import { isCurrency } from "../../domain/Currency.ts"
import { toSubunits } from "../../providers/paystack/Amounts.ts"
import { balanceOf, gateOf } from "../Call.ts"
import { banks, isResolvableBank, servedCountries } from "./Catalogue.ts"
import { type Call, refuse, success } from "./Responses.ts"

const LARGEST_PAGE = 100

/** GET /bank: with cursor pagination, if it is requested. */
export const listBanks = (call: Call) =>
  Effect.sync(() => {
    const { query } = call.request
    const wanted = (name: string, value: string) => (query.get(name) ?? value).toLowerCase() === value.toLowerCase()
    const found = banks.filter(
      (one) => wanted("country", one.country) && wanted("currency", one.currency) && wanted("type", one.type)
    )
    const size = Math.min(Math.max(1, Number(query.get("perPage") ?? "50")), LARGEST_PAGE)
    const from = Number(query.get("next") ?? "0")
    const data = found.slice(from, from + size).map((one) => ({
      name: one.name,
      slug: one.name.toLowerCase().replace(/\W+/g, "-"),
      code: one.code,
      longcode: "",
      gateway: null,
      pay_with_bank: false,
      supports_transfer: one.transfers,
      active: one.active,
      is_deleted: one.deleted ? true : null,
      country: one.country.replace(/^./, (letter) => letter.toUpperCase()),
      currency: one.currency,
      type: one.type,
      id: BigInt(banks.indexOf(one) + 1)
    }))
    const next = from + size < found.length ? String(from + size) : null
    return success("Banks retrieved", data, { next, previous: null, perPage: size })
  })

/** GET /bank/resolve */
export const resolveBank = Effect.fnUntraced(function* (call: Call) {
  const { request } = call
  const number = request.query.get("account_number") ?? ""
  const code = request.query.get("bank_code") ?? ""
  if (!isResolvableBank(code)) return yield* refuse(400, "Unknown bank code", "invalid_bank_code")
  const gate = yield* gateOf(call, number, ["unavailable"])
  if (gate === "no_account" || !/^\d{6,20}$/.test(number))
    return yield* refuse(422, "Could not resolve account name. Check parameters or try again.", "invalid_account_number")
  return success("Account number resolved", { account_number: number, account_name: "JOHN DOE", bank_id: 9 })
})

/** GET /balance */
export const balance = (call: Call) =>
  Effect.sync(() =>
    success(
      "Balances retrieved",
      servedCountries.map(({ currency }) => ({
        currency,
        balance: isCurrency(currency) ? toSubunits(balanceOf(call, currency), currency) : 0n
      }))
    )
  )

/** GET /country */
export const listCountries = () =>
  Effect.succeed(
    success(
      "Countries retrieved",
      servedCountries.map(({ callingCode, currency, iso, name }, index) => ({
        id: index + 1,
        name,
        iso_code: iso,
        default_currency_code: currency,
        calling_code: callingCode,
        relationships: {
          currency: { type: "currency", data: [currency] },
          integration_type: { type: "integration_type", data: ["ITYPE_001"] },
          payment_method: { type: "payment_method", data: [] }
        }
      }))
    )
  )
