import { Effect, Option, Result } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { fromDecimalDown } from "../../domain/Money.ts"
import type { Balance } from "../../services/ports/Provider.ts"
import type { Deadline } from "../Client.ts"
import type { Branch } from "./Client.ts"
import { decoded, noAnswer } from "./Reading.ts"
import { BalanceAnswer, balancePath, type Product } from "./Wire.ts"

/** What payouts are paid from comes first; what collections bring is in another account until somebody moves it. */
const order: ReadonlyArray<Product> = ["disbursement", "collection"]

/** Two wallets in each country. */
export const balances = (
  branches: ReadonlyArray<Branch>,
  deadline: Deadline
): Effect.Effect<ReadonlyArray<Balance>, ProviderError> =>
  Effect.flatMap(deadline, (until) =>
    Effect.forEach(
      branches.flatMap((branch) => order.map((product) => ({ branch, product }))),
      ({ branch, product }) => balanceOf(branch, product, until),
      { concurrency: "unbounded" }
    )
  ).pipe(Effect.withSpan("mtn.balances"))

const balanceOf = Effect.fnUntraced(function* ({ clients, currency }: Branch, product: Product, until: number) {
  const response = yield* clients[product]({ operation: "balance", path: balancePath(product) }, until)
  const answer = Option.getOrUndefined(decoded(BalanceAnswer, response))
  const available = answer?.currency === currency ? fromDecimalDown(answer.availableBalance, currency) : undefined
  if (available !== undefined && Result.isSuccess(available)) {
    return { currency, available: available.success, pending: null } satisfies Balance
  }
  const alarm = answer === undefined ? noAnswer(response).alarm : "a balance at MTN cannot be read"
  if (alarm !== null) yield* Effect.logError(alarm, { product, currency })
  return yield* new ProviderError()
})
