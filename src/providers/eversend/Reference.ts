import { Effect, Option, Redacted, Result, type Schema } from "effect"
import { isCurrency } from "../../domain/Currency.ts"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { fromDecimalDown } from "../../domain/Money.ts"
import type { Balance, PayableCountry, ReferenceData } from "../../services/ports/Provider.ts"
import type { Exchanged } from "../Transport.ts"
import type { Call, Client } from "./Client.ts"
import { decoded, noAnswer } from "./Reading.ts"
import { BanksAnswer, CountriesAnswer, ResolveBankAnswer, WalletsAnswer } from "./Wire.ts"

/** Eversend's free reads. `deadline` is the moment until which a read that begins now is waited for. */
export const referenceData = (client: Client, deadline: Effect.Effect<number>): Required<ReferenceData> => {
  const ask = (call: Call) => Effect.flatMap(deadline, (until) => client(call, until))

  const banks: Required<ReferenceData>["banks"] = Effect.fn("eversend.banks")(function* (country) {
    const exchanged = yield* ask({ operation: "banks", method: "GET", path: `/payouts/banks/${country}` })
    // A country whose banks it does not pay is none of Eversend's.
    if (isAnswered(exchanged, [404])) return []
    const { data } = yield* read(BanksAnswer, exchanged)
    return data.filter(({ active }) => active).map(({ code, name }) => ({ code, name }))
  })

  const resolve: Required<ReferenceData>["resolve"] = Effect.fn("eversend.resolve")(function* (account) {
    const exchanged = yield* ask({
      operation: "resolve",
      method: "POST",
      path: "/beneficiaries/accounts/banks",
      body: {
        accountNumber: Redacted.value(account.accountNumber),
        bankCode: account.bankCode,
        countryCode: account.country
      }
    })
    if (isAnswered(exchanged, UNRESOLVABLE)) return "unresolvable"
    const { data } = yield* read(ResolveBankAnswer, exchanged)
    return Redacted.make(data.account_name)
  })

  const countries = Effect.fn("eversend.countries")(function* () {
    const exchanged = yield* ask({ operation: "countries", method: "GET", path: "/payouts/countries" })
    const { data } = yield* read(CountriesAnswer, exchanged)
    return data.countries.map(
      ({ country, name, paymentTypes, phonePrefix }): PayableCountry => ({
        country,
        name,
        phonePrefix,
        methods: methods.filter((method) => paymentTypes.includes(paymentTypeOf[method]))
      })
    )
  })

  const balances = Effect.fn("eversend.balances")(function* () {
    const exchanged = yield* ask({ operation: "wallets", method: "GET", path: "/wallets" })
    const { data } = yield* read(WalletsAnswer, exchanged)
    return yield* Effect.forEach(
      data.filter(({ enabled }) => enabled),
      balanceOf
    ).pipe(Effect.map((all) => all.flat()))
  })

  return { banks, resolve, countries: countries(), balances: balances() }
}

/** How Eversend says that there is no such account. */
const UNRESOLVABLE = [400, 404, 422]

const methods = ["momo", "bank", "wallet"] as const
/** Eversend's word for its own wallet is its name. */
const paymentTypeOf = { momo: "momo", bank: "bank", wallet: "eversend" } as const satisfies Record<
  (typeof methods)[number],
  string
>

const isAnswered = (exchanged: Exchanged, statuses: ReadonlyArray<number>): boolean =>
  exchanged._tag === "Answered" && statuses.includes(exchanged.status)

const read = Effect.fnUntraced(function* <A>(schema: Schema.ConstraintDecoder<A>, exchanged: Exchanged) {
  const answer = decoded(schema, exchanged)
  if (Option.isSome(answer)) return answer.value
  const { alarm } = noAnswer(exchanged)
  if (alarm !== null) yield* Effect.logError(alarm)
  return yield* new ProviderError()
})

/** A currency that the gateway does not know is not its own; digits finer than the currency cannot be paid out. */
const balanceOf = Effect.fnUntraced(function* ({ amount, currency }: (typeof WalletsAnswer.Type)["data"][number]) {
  if (!isCurrency(currency)) return []
  const available = fromDecimalDown(amount, currency)
  if (Result.isSuccess(available)) return [{ currency, available: available.success, pending: null } satisfies Balance]
  yield* Effect.logError("a balance at Eversend cannot be read", { currency })
  return yield* new ProviderError()
})
