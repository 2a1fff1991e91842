import { Effect, Option, Redacted, Result, type Schema } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { fromDecimalDown } from "../../domain/Money.ts"
import type { MomoParty } from "../../domain/Party.ts"
import type { MobileHolder } from "../../services/ports/Provider.ts"
import type { Balance, ReferenceData } from "../../services/ports/ProviderReads.ts"
import { isAnswered, logAlarm } from "../AnswerParsing.ts"
import type { Deadline } from "../Client.ts"
import type { ProviderResponse } from "../Transport.ts"
import type { Branch, HolderCheck } from "./Client.ts"
import { places } from "./Networks.ts"
import { digitsOf } from "./Order.ts"
import { decodedOk, identity } from "./Refusals.ts"
import { ActiveAnswer, BalanceAnswer, balancePath, HolderAnswer, holderPath, type Product } from "./Wire.ts"

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

/**
 * The holder of a recipient's number. Only `result: false` says that it is not active: what is refused, a number that is not found among
 * it, may be a market in which the call is not enabled, and says nothing. The name is asked for where somebody can be paid.
 */
export const holderBy = (branches: ReadonlyArray<Branch>, check: Exclude<HolderCheck, "off">, deadline: Deadline) =>
  Effect.fn("mtn.holder")(function* ({ country, msisdn, network }: MomoParty): Effect.fn.Return<MobileHolder, ProviderError> {
    const branch = branches.find((one) => one.country === country)
    if (branch === undefined || network !== "MTN") return unnamed
    const until = yield* deadline
    const ask = Effect.fnUntraced(function* <A>(what: "active" | "basicuserinfo", schema: Schema.ConstraintDecoder<A>) {
      const path = holderPath(digitsOf(msisdn), what)
      const response = yield* branch.clients.disbursement({ operation: "holder", method: "GET", path }, until)
      const answer = Option.getOrUndefined(decodedOk(schema, response))
      if (answer === undefined && !isRefusal(response)) return yield* new ProviderError({})
      return answer
    })
    const active = yield* ask("active", ActiveAnswer)
    if (active?.result === false) return "inactive"
    const info = check === "name" ? yield* ask("basicuserinfo", HolderAnswer) : undefined
    const name = info?.name ?? [info?.given_name, info?.family_name].filter((part) => part).join(" ")
    return /\p{L}/u.test(name) ? { name: Redacted.make(name) } : unnamed
  })

const unnamed = { name: null } as const

/** Of the question, and not of our account or of too many of them. */
const isRefusal = (response: ProviderResponse): boolean => isAnswered(response, 400, 403, 404, 405)
