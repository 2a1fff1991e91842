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

// MTN's free reads. It lists no banks.

/** The account that pays payouts comes first. Collections go to the other account, and stay there until they are moved. */
const order: ReadonlyArray<Product> = ["disbursement", "collection"]

/** Each country has two wallets. */
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

/** A market without this call refuses it for every number. After this long it is tried again, because it may have been enabled. */
const MARKET_UNSAID_MS = 3_600_000
const forAnHour = deadlineAfter(MARKET_UNSAID_MS)
/** When the call was forbidden for this many different numbers in a row, and answered for none, it is forbidden in the market. */
const FORBIDDEN_NUMBERS = 3

/**
 * The holder of a recipient's number. Only `result: false` means `inactive`: a refused call proves nothing, even for a number
 * that is not found. The name is read only for an active account.
 */
export const holderBy = (check: Exclude<HolderCheck, "off">) => {
  /** By market and call: until when the call is not made again. */
  const unsaid = new Map<string, number>()
  /** By market and call: the numbers for which it was forbidden since the last answer. */
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
