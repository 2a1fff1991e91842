import { Effect, Redacted } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import type { PayableBank, PayableCountry, ReferenceData } from "../../services/ports/ProviderReads.ts"
import { balancesAt } from "../Balances.ts"
import type { Connection } from "../Connection.ts"
import { readableRows } from "../Rows.ts"
import type { ProviderResponse } from "../Transport.ts"
import { fromSubunitsDown } from "./Amounts.ts"
import { countryOf, payableBy } from "./Networks.ts"
import { errorOf } from "./Refusals.ts"
import { Balance, BalanceAnswer, Bank, BanksAnswer, CountriesAnswer, Country, ResolveAnswer } from "./Wire.ts"

const PAGE_SIZE = 100
const MAXIMUM_PAGES = 20

/** Paystack's free reads. */
export const referenceData = ({ call, get, giveUp, name, read }: Connection): Required<Omit<ReferenceData, "branches">> => {
  const banks: Required<ReferenceData>["banks"] = Effect.fn("paystack.banks")(function* (country) {
    const found = countryOf(country)
    if (found === undefined || found.bankType === null) return []
    const all: Array<PayableBank> = []
    let next: string | null = null
    for (let page = 0; page < MAXIMUM_PAGES; page++) {
      const query: Record<string, string> = { country: found.name, currency: found.currency, use_cursor: "true" }
      const search = new URLSearchParams({ ...query, perPage: String(PAGE_SIZE), ...(next === null ? {} : { next }) })
      const { data, meta }: typeof BanksAnswer.Type = yield* get(BanksAnswer, "banks", `/bank?${search}`)
      const listed = yield* readableRows(name, "banks", Bank, data)
      all.push(...listed.filter(isPaid).map(({ code, name }) => ({ code, name })))
      next = meta?.next ?? null
      if (next === null || next === "") return all
    }
    return yield* giveUp(`Paystack's list of banks does not end: ${country}`)
  })

  const resolve: Required<ReferenceData>["resolve"] = Effect.fn("paystack.resolve")(function* (account) {
    const found = countryOf(account.country)
    // Paystack cannot look up accounts there, which says nothing about the account.
    if (found === undefined || !found.resolves) return yield* new ProviderError({})
    const search = new URLSearchParams({
      account_number: Redacted.value(account.accountNumber),
      bank_code: account.bankCode
    })
    const response = yield* call({ operation: "resolve", method: "GET", path: `/bank/resolve?${search}` })
    if (isUnresolvable(response)) return "unresolvable"
    const { data } = yield* read(ResolveAnswer, response)
    return Redacted.make(data.account_name)
  })

  const countries = Effect.fn("paystack.countries")(function* () {
    const { data } = yield* get(CountriesAnswer, "countries", "/country")
    return (yield* readableRows(name, "countries", Country, data)).flatMap(
      ({ calling_code, iso_code: country, name }): ReadonlyArray<PayableCountry> => {
        const methods = payableBy(country)
        const prefix = calling_code ?? countryOf(country)?.prefix ?? ""
        return methods.length === 0 ? [] : [{ country, name, phonePrefix: `+${prefix.replace(/^\+/, "")}`, methods }]
      }
    )
  })

  const balances = Effect.fn("paystack.balances")(function* () {
    const { data } = yield* get(BalanceAnswer, "balance", "/balance")
    const held = (yield* readableRows(name, "balance", Balance, data)).map(({ balance: amount, currency }) => ({
      amount,
      currency
    }))
    return yield* balancesAt(name, held, fromSubunitsDown)
  })

  return { banks, resolve, countries: countries(), balances: balances() }
}

/** Without mobile networks, paid as the corridor's networks, and Kenya's tills and paybills, which are no personal accounts. */
const isPaid = ({ active, is_deleted, supports_transfer, type }: typeof Bank.Type): boolean =>
  active === true && is_deleted !== true && supports_transfer === true && type?.startsWith("mobile_money") !== true

/** Older responses use 400, newer ones 422. */
const isUnresolvable = (response: ProviderResponse): boolean =>
  response._tag === "Answered" && (response.status === 400 || response.status === 422) && errorOf(response) !== undefined
