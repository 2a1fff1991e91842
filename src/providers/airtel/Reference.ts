import { Effect, Option } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { fromDecimalDown } from "../../domain/Money.ts"
import type { MomoParty } from "../../domain/Party.ts"
import type { MobileHolder } from "../../services/ports/Provider.ts"
import { decoded } from "../AnswerParsing.ts"
import { balancesAt } from "../Balances.ts"
import { type Branch, holderNamed, unnamed } from "../CountryBranches.ts"
import type { Application } from "./Client.ts"
import { nationalNumber } from "./Order.ts"
import { codesIn } from "./Refusals.ts"
import { BALANCE_PATH, BalanceAnswer, HolderAnswer, holderPath } from "./Wire.ts"

// Airtel's free reads. It lists no banks.

/** The wallet of a country's application. */
export const balanceOf = ({ connection: { get, name } }: Branch<Application>) =>
  Effect.flatMap(get(BalanceAnswer, "balance", BALANCE_PATH), ({ data: { balance, currency } }) =>
    balancesAt(name, [{ amount: plainText(balance), currency }], fromDecimalDown)
  )

/** "41,250.00", with or without its commas. */
const plainText = (text: string): string => (/^\d{1,3}(,\d{3})+(\.\d+)?$/.test(text) ? text.replaceAll(",", "") : text)

const FOUND = "DP02200000001"
const NOBODY = "DP02200000002"

/** The holder of a recipient's number. Only the code for "no such user" means `inactive`; any other refusal proves nothing. */
export const holderOf = Effect.fnUntraced(function* (
  { account }: Branch<Application>,
  msisdn: MomoParty["msisdn"],
  until: number
): Effect.fn.Return<MobileHolder, ProviderError> {
  const number = nationalNumber(account, msisdn)
  if (number === undefined) return unnamed
  const call = { operation: "holder", method: "GET", path: holderPath(number), keepsToken: true } as const
  const answer = Option.getOrUndefined(decoded(HolderAnswer, yield* account.client(call, until)))
  if (answer === undefined) return yield* new ProviderError({})
  const codes = codesIn(answer.status)
  if (codes.includes(NOBODY)) return "inactive"
  return codes.includes(FOUND) ? holderNamed(answer.data?.first_name, answer.data?.last_name) : unnamed
})
