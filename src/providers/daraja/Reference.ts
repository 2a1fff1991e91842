import { Clock, Effect, Option, Result as Read } from "effect"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import type { Balance, ReferenceData } from "../../services/ports/ProviderReads.ts"
import type { Connection } from "../Connection.ts"
import { majorUnits } from "../ProviderStatus.ts"
import { type Account, answerTo } from "./Client.ts"
import { parametersOf } from "./Wire.ts"

/** Safaricom's free reads. It lists no banks. */
export const referenceData = (
  account: Account,
  connection: Connection
): Required<Pick<ReferenceData, "countries" | "balances">> => ({
  countries: Effect.succeed([{ country: "KE", name: "Kenya", phonePrefix: "+254", methods: ["momo"] }]),
  // The account that pays payouts comes first.
  balances: Effect.forEach(
    [
      { shortcode: account.settings.payoutShortcode, wallet: "Utility Account" },
      { shortcode: account.settings.shortcode, wallet: "Working Account" }
    ],
    (one) => balanceOf(account, connection, one),
    { concurrency: "unbounded" }
  ).pipe(Effect.withSpan("daraja.balances"))
})

interface Wallet {
  readonly shortcode: string
  readonly wallet: string
}

const balanceOf = Effect.fnUntraced(function* (
  account: Account,
  { deadline, giveUp }: Connection,
  { shortcode, wallet }: Wallet
): Effect.fn.Return<Balance, ProviderError> {
  const until = yield* deadline
  // Each query has its own answer, also when two nodes query at once.
  const id = `${shortcode}.${yield* Clock.currentTimeMillis}`
  const body = { CommandID: "AccountBalance", PartyA: shortcode }
  const answer = yield* answerTo(account, { kind: "balance", id, body }, until)
  if ("fact" in answer) return yield* giveUp(answer.alarm)
  const available = availableIn(parametersOf(answer).get("AccountBalance") ?? "", wallet)
  return Option.isSome(available)
    ? { currency: "KES", available: available.value, pending: null }
    : yield* giveUp("a balance at Safaricom cannot be read")
})

/** `Working Account|KES|51200.00|51200.00|0.00|0.00&Utility Account|…`: name, currency and balance of each account. */
const availableIn = (text: string, wallet: string) => {
  const row = text.split("&").find((one) => one.startsWith(`${wallet}|KES|`))
  return Read.getSuccess(majorUnits.down(row?.split("|")[2] ?? "", "KES"))
}
