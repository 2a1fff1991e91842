import { Effect, Result } from "effect"
import { type Currency, isCurrency } from "../domain/Currency.ts"
import { ProviderError } from "../domain/errors/Retriable.ts"
import type { MinorUnits } from "../domain/Money.ts"
import type { Balance } from "../services/ports/ProviderReads.ts"
import { logAlarm } from "./AnswerParsing.ts"

interface Held {
  readonly amount: string
  readonly currency: string
}

/** Leaves out currencies unknown to the gateway. `down` drops digits finer than the currency, which cannot be paid out. */
export const balancesAt = Effect.fnUntraced(function* (
  provider: string,
  held: ReadonlyArray<Held>,
  down: (amount: string, currency: Currency) => Result.Result<MinorUnits, unknown>
) {
  const balances: Array<Balance> = []
  for (const { amount, currency } of held) {
    if (!isCurrency(currency)) continue
    const available = down(amount, currency)
    if (Result.isFailure(available)) {
      yield* Effect.annotateLogs(logAlarm("a balance cannot be read"), { provider, currency })
      return yield* new ProviderError({})
    }
    balances.push({ currency, available: available.success, pending: null })
  }
  return balances
})
