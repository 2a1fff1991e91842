import { Effect, Option, Result } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { fromDecimalDown } from "../../domain/Money.ts"
import type { Balance, ReferenceData } from "../../services/ports/ProviderReads.ts"
import { logAlarm } from "../AnswerParsing.ts"
import type { Deadline } from "../Client.ts"
import type { Branch } from "./Client.ts"
import { places } from "./Networks.ts"
import { decodedOk, identity } from "./Refusals.ts"
import { BalanceAnswer, balancePath, type Product } from "./Wire.ts"

/** MTN's free reads. It knows no banks. */
export const referenceData = (
  branches: ReadonlyArray<Branch>,
  deadline: Deadline
): Required<Pick<ReferenceData, "countries" | "balances">> => ({
  countries: Effect.succeed(
    branches.map(({ country }) => {
      const { name, phonePrefix } = places[country]
      return { country, name, phonePrefix, methods: ["momo"] }
    })
  ),
  // Two wallets in each country.
  balances: Effect.flatMap(deadline, (until) =>
    Effect.forEach(
      branches.flatMap((branch) => order.map((product) => ({ branch, product }))),
      ({ branch, product }) => balanceOf(branch, product, until),
      { concurrency: "unbounded" }
    )
  ).pipe(Effect.withSpan("mtn.balances"))
})

/** The account from which payouts are paid comes first; collections go to another account, and stay there until they are moved. */
const order: ReadonlyArray<Product> = ["disbursement", "collection"]

const balanceOf = Effect.fnUntraced(function* ({ clients, currency }: Branch, product: Product, until: number) {
  const response = yield* clients[product]({ operation: "balance", method: "GET", path: balancePath(product) }, until)
  const answer = Option.getOrUndefined(decodedOk(BalanceAnswer, response))
  const available = answer?.currency === currency ? fromDecimalDown(answer.availableBalance, currency) : undefined
  if (available !== undefined && Result.isSuccess(available)) {
    return { currency, available: available.success, pending: null } satisfies Balance
  }
  const alarm = answer === undefined ? identity.readAsUnknown(response).alarm : "a balance at MTN cannot be read"
  if (alarm !== null) yield* Effect.annotateLogs(logAlarm(alarm), { provider: identity.name, product, currency })
  return yield* new ProviderError({})
})
