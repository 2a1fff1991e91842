import { Effect, Option, Result, type Schema } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { fromDecimalDown } from "../../domain/Money.ts"
import type { MomoParty } from "../../domain/Party.ts"
import type { MobileHolder } from "../../services/ports/Provider.ts"
import type { Balance } from "../../services/ports/ProviderReads.ts"
import { logAlarm } from "../AnswerParsing.ts"
import { deadlineAfter, timeLeft } from "../Client.ts"
import { type Branch, holderNamed } from "../CountryBranches.ts"
import { digitsOf } from "../ProviderText.ts"
import type { HolderCheck, OpenedAccount } from "./Client.ts"
import { decodedOk, identity, unsaidBy } from "./Refusals.ts"
import { ActiveAnswer, BalanceAnswer, balancePath, HolderAnswer, holderPath, type Product } from "./Wire.ts"

// MTN's free reads. It knows no banks.

/** The account from which payouts are paid comes first; collections go to another account, and stay there until they are moved. */
const order: ReadonlyArray<Product> = ["disbursement", "collection"]

/** Two wallets in each country. */
export const balancesOf = ({ account, connection }: Branch<OpenedAccount>) =>
  Effect.flatMap(connection.deadline, (until) =>
    Effect.forEach(order, (product) => balanceOf(account, product, until), { concurrency: "unbounded" })
  )

const balanceOf = Effect.fnUntraced(function* ({ clients, currency }: OpenedAccount, product: Product, until: number) {
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

/** A market that has no such call says so to everybody. It is asked again after this long, for it may have been enabled. */
const MARKET_UNSAID_MS = 3_600_000
const forAnHour = deadlineAfter(MARKET_UNSAID_MS)
/** So many different numbers in a row for which a question was forbidden, and none was answered: it is forbidden in the market. */
const FORBIDDEN_NUMBERS = 3

/**
 * The holder of a recipient's number. Only `result: false` says that it is not active: what is refused, a number that is not found among
 * it, says nothing. The name is asked for where somebody can be paid.
 */
export const holderBy = (check: Exclude<HolderCheck, "off">) => {
  /** Until when a question is not asked again, for each market that refused it. */
  const unsaid = new Map<string, number>()
  /** The numbers for which a question was forbidden since one was answered. */
  const forbidden = new Map<string, ReadonlySet<string>>()

  const isOfMarket = (question: string, number: string, refused: ReturnType<typeof unsaidBy>): boolean => {
    const numbers = refused === "either" ? new Set([...(forbidden.get(question) ?? []), number]) : new Set<string>()
    const isAll = numbers.size >= FORBIDDEN_NUMBERS
    if (isAll || refused !== "either") forbidden.delete(question)
    else forbidden.set(question, numbers)
    return isAll || refused === "market"
  }

  const ask = Effect.fnUntraced(function* <A>(
    { client, country }: OpenedAccount,
    msisdn: MomoParty["msisdn"],
    { schema, what }: HolderQuestion<A>,
    until: number
  ) {
    const question = `${country} ${what}`
    if ((yield* timeLeft(unsaid.get(question) ?? 0)) > 0) return undefined
    const number = digitsOf(msisdn)
    const call = { operation: "holder", method: "GET", path: holderPath(number, what), keepsToken: true } as const
    const response = yield* client(call, until)
    const answer = Option.getOrUndefined(decodedOk(schema, response))
    if (answer !== undefined) {
      forbidden.delete(question)
      return answer
    }
    const refused = unsaidBy(response)
    if (refused === undefined) return yield* new ProviderError({})
    if (isOfMarket(question, number, refused)) unsaid.set(question, yield* forAnHour)
    return undefined
  })

  return Effect.fnUntraced(function* (
    { account }: Branch<OpenedAccount>,
    msisdn: MomoParty["msisdn"],
    until: number
  ): Effect.fn.Return<MobileHolder, ProviderError> {
    const active = yield* ask(account, msisdn, { what: "active", schema: ActiveAnswer }, until)
    if (active?.result === false) return "inactive"
    const info =
      check === "name" ? yield* ask(account, msisdn, { what: "basicuserinfo", schema: HolderAnswer }, until) : undefined
    const name = info?.name ?? null
    return name === null ? holderNamed(info?.given_name, info?.family_name) : holderNamed(name)
  })
}

interface HolderQuestion<A> {
  readonly what: "active" | "basicuserinfo"
  readonly schema: Schema.ConstraintDecoder<A>
}
