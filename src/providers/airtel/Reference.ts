import { Effect, Option, Redacted } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { fromDecimalDown } from "../../domain/Money.ts"
import type { MomoParty } from "../../domain/Party.ts"
import type { MobileHolder } from "../../services/ports/Provider.ts"
import type { ReferenceData } from "../../services/ports/ProviderReads.ts"
import { decoded } from "../AnswerParsing.ts"
import { balancesAt } from "../Balances.ts"
import type { Deadline } from "../Client.ts"
import type { Branch } from "../CountryBranches.ts"
import type { Application } from "./Client.ts"
import { NETWORK, places } from "./Networks.ts"
import { nationalNumber } from "./Order.ts"
import { codesIn, identity } from "./Refusals.ts"
import { BALANCE_PATH, BalanceAnswer, HolderAnswer, holderPath } from "./Wire.ts"

/** Airtel's free reads: the wallet of each country's application. It knows no banks. */
export const referenceData = (branches: ReadonlyArray<Branch<Application>>) =>
  ({
    countries: Effect.succeed(
      branches.map(({ account: { country } }) => {
        const { name, phonePrefix } = places[country]
        return { country, name, phonePrefix, methods: ["momo"] as const }
      })
    ),
    balances: Effect.forEach(branches, balanceOf, { concurrency: "unbounded" }).pipe(
      Effect.map((all) => all.flat()),
      Effect.withSpan("airtel.balances")
    )
  }) satisfies ReferenceData

const balanceOf = ({ connection }: Branch<Application>) =>
  Effect.flatMap(connection.get(BalanceAnswer, "balance", BALANCE_PATH), ({ data: { balance, currency } }) =>
    balancesAt(identity.name, [{ amount: plainText(balance), currency }], fromDecimalDown)
  )

/** "41,250.00", with and without its commas. */
const plainText = (text: string): string => (/^\d{1,3}(,\d{3})+(\.\d+)?$/.test(text) ? text.replaceAll(",", "") : text)

const FOUND = "DP02200000001"
const NOBODY = "DP02200000002"

/** The holder of a recipient's number. Only that there is no such user says that it is not active: every other refusal says nothing. */
export const holderBy = (accounts: ReadonlyArray<Application>, deadline: Deadline) =>
  Effect.fn("airtel.holder")(function* ({ country, msisdn, network }: MomoParty): Effect.fn.Return<MobileHolder, ProviderError> {
    const account = accounts.find((one) => one.country === country)
    const number = account === undefined ? undefined : nationalNumber(account, msisdn)
    if (account === undefined || number === undefined || network !== NETWORK) return unnamed
    const call = { operation: "holder", method: "GET", path: holderPath(number), keepsToken: true } as const
    const answer = Option.getOrUndefined(decoded(HolderAnswer, yield* account.client(call, yield* deadline)))
    if (answer === undefined) return yield* new ProviderError({})
    const codes = codesIn(answer.status)
    if (codes.includes(NOBODY)) return "inactive"
    const name = [answer.data?.first_name, answer.data?.last_name].filter((part) => part).join(" ")
    return codes.includes(FOUND) && /\p{L}/u.test(name) ? { name: Redacted.make(name) } : unnamed
  })

const unnamed = { name: null } as const
