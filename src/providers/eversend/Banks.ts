import { Cache, Duration, Effect, Exit, Option } from "effect"
import type { PayoutOrder } from "../../services/ports/Provider.ts"
import { decoded } from "../AnswerParsing.ts"
import { type Client, deadlineAfter } from "../Client.ts"
import { readableRows } from "../Rows.ts"
import { Bank, BanksAnswer } from "./Wire.ts"

const BANKS_LIFE = Duration.hours(1)
const MAXIMUM_BANK_LISTS = 32
/** The longest wait for a bank's name. */
const BANKS_TIMEOUT_MS = 3000

/**
 * Eversend requires a bank's name beside its code. The name is read from Eversend's list of banks. When the list cannot be read
 * or lacks the code, the code is sent as the name, and Eversend decides whether it can pay such a bank.
 */
export const openBankNames = Effect.fnUntraced(function* (client: Client) {
  const lists = yield* Cache.makeWith<string, ReadonlyMap<string, string>, "unread">(
    Effect.fnUntraced(function* (country) {
      const until = yield* deadlineAfter(BANKS_TIMEOUT_MS)
      const response = yield* client({ operation: "banks", method: "GET", path: `/payouts/banks/${country}` }, until)
      const answer = decoded(BanksAnswer, response)
      if (Option.isNone(answer)) return yield* Effect.fail("unread" as const)
      const listed = yield* readableRows("eversend", "banks", Bank, answer.value.data)
      return new Map(listed.map(({ code, name }) => [code, name]))
    }),
    { capacity: MAXIMUM_BANK_LISTS, timeToLive: (exit) => (Exit.isSuccess(exit) ? BANKS_LIFE : Duration.zero) }
  )
  return Effect.fnUntraced(function* ({ destination }: PayoutOrder) {
    if (destination._tag !== "bank") return ""
    const { bankCode, country } = destination
    return yield* Cache.get(lists, country).pipe(
      Effect.map((names) => names.get(bankCode) ?? bankCode),
      Effect.catch(() => Effect.succeed(bankCode))
    )
  })
})
