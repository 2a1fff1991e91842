import { Effect, Option, Result, type Schema } from "effect"
import { type Currency, isCurrency } from "../../domain/Currency.ts"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { add, fromDecimalDown, type MinorUnits, ZERO } from "../../domain/Money.ts"
import type { PayableCountry, ReferenceData } from "../../services/ports/Provider.ts"
import type { Client } from "./Client.ts"
import { markets } from "./Networks.ts"
import { decoded, noAnswer } from "./Reading.ts"
import { ActiveConfAnswer, BalancesAnswer } from "./Wire.ts"

/** pawaPay's free reads. It knows no banks. */
export const referenceData = (
  client: Client,
  deadline: Effect.Effect<number>
): Required<Pick<ReferenceData, "countries" | "balances">> => {
  const read = Effect.fnUntraced(function* <A>(schema: Schema.ConstraintDecoder<A>, operation: string, path: string) {
    const exchanged = yield* client({ operation, method: "GET", path }, yield* deadline)
    const answer = decoded(schema, exchanged)
    if (Option.isSome(answer)) return answer.value
    const { alarm } = noAnswer(exchanged)
    if (alarm !== null) yield* Effect.logError(alarm)
    return yield* new ProviderError()
  })

  const countries = Effect.fn("pawapay.countries")(function* () {
    const { countries: active } = yield* read(ActiveConfAnswer, "active_conf", "/active-conf")
    return markets.flatMap(({ country, iso3, name, prefix }): ReadonlyArray<PayableCountry> => {
      const pays = active.some((one) => one.country === iso3 && isPayable(one))
      return pays ? [{ country, name, phonePrefix: `+${prefix}`, methods: ["momo"] }] : []
    })
  })

  // A wallet is of one country; the currencies that several countries share are told together.
  const balances = Effect.fn("pawapay.balances")(function* () {
    const sums = new Map<Currency, MinorUnits>()
    for (const { balance, currency } of (yield* read(BalancesAnswer, "wallet_balances", "/wallet-balances")).balances) {
      if (!isCurrency(currency)) continue
      const amount = fromDecimalDown(balance, currency)
      if (Result.isFailure(amount)) {
        yield* Effect.logError("a balance at pawaPay cannot be read", { currency })
        return yield* new ProviderError()
      }
      sums.set(currency, add(sums.get(currency) ?? ZERO, amount.success))
    }
    return [...sums].map(([currency, available]) => ({ currency, available, pending: null }))
  })

  return { countries: countries(), balances: balances() }
}

const isPayable = ({ providers }: (typeof ActiveConfAnswer.Type)["countries"][number]): boolean =>
  providers.some(({ currencies }) => currencies.some(({ operationTypes }) => operationsOf(operationTypes).includes("PAYOUT")))

const operationsOf = (
  types: (typeof ActiveConfAnswer.Type)["countries"][number]["providers"][number]["currencies"][number]["operationTypes"]
): ReadonlyArray<string> => (isList(types) ? types.map(({ operationType }) => operationType) : Object.keys(types))

const isList = <A>(value: ReadonlyArray<A> | Readonly<Record<string, unknown>>): value is ReadonlyArray<A> => Array.isArray(value)
