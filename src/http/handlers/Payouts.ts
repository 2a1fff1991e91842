import { Effect, Result } from "effect"
import { AmountTypeRequired, type Issue } from "../../domain/errors/Terminal.ts"
import { minor } from "../../domain/Money.ts"
import { transactionView } from "../../domain/View.ts"
import type { PayoutTerms } from "../../services/payouts/PayoutPricing.ts"
import { type ListedPayout, PayoutQuotes } from "../../services/payouts/PayoutQuotes.ts"
import { type PayoutCommand, Payouts } from "../../services/payouts/Payouts.ts"
import { Records } from "../../services/Records.ts"
import { errorView } from "../api/Envelope.ts"
import { MOST_QUOTES, PayoutBody, QuoteBody } from "../api/Payouts.ts"
import { withCaller } from "../api/SignedRequest.ts"
import { type Body, type BodyError, checkMode, invalid, issuesOf, makeDecoder, metadataWithinLimit } from "../body/Body.ts"
import { asSaid, destinationOf } from "../body/Parties.ts"
import { withSignedBody } from "../body/SignedBody.ts"
import { handlersOf } from "../edge/Endpoints.ts"
import { respond } from "../edge/Response.ts"
import { Idempotent } from "../idempotency/Idempotent.ts"
import { isJsonObject, type JsonTree } from "../json/StrictJson.ts"

/**
 * The payout endpoints. Each decodes the body or path of a signed request, calls one service method and returns the view of its
 * result. It refuses what the decoder refuses, then what the service refuses. `create` runs once for each idempotency key.
 */
export const payoutsHandlers = Effect.gen(function* () {
  const payouts = yield* Payouts
  const quotes = yield* PayoutQuotes
  const records = yield* Records
  const idempotent = yield* Idempotent
  return handlersOf("payouts", {
    create: () =>
      idempotent.once({
        endpoint: "POST /v1/payouts",
        decode: payoutBody,
        windows: payouts.windows,
        screen: payouts.screen,
        run: payouts.create
      }),
    quote: () => withSignedBody(quoteBody, payouts.estimate),
    quotes: () =>
      withSignedBody(quotesBody, (caller, bodies) => {
        const listed = bodies.map((body) => Result.flatMap(checkMode(body, caller.mode), listedPayout))
        return Effect.map(quotes.price(caller, listed), ({ items, totals }) => ({
          items: items.map(({ error, ...item }) => ({ ...item, error: error && errorView(error) })),
          totals
        }))
      }),
    find: ({ params }) =>
      withCaller((caller) => records.shown(caller, params.reference, "payout")).pipe(Effect.map(transactionView), respond(200))
  })
})

type Wire = typeof QuoteBody.Type

const decodePayout = makeDecoder(PayoutBody)
const decodeQuote = makeDecoder(QuoteBody)

/** The body of `POST /v1/payouts`. */
export const payoutBody = (body: JsonTree): Result.Result<Body<PayoutCommand>, BodyError | AmountTypeRequired> =>
  Result.gen(function* () {
    const { ignored, tree, wire } = yield* decodePayout(body)
    const destination = destinationOf(wire.destination)
    const metadata = metadataWithinLimit(tree)
    const issues = [...termIssues(wire), ...issuesOf(destination), ...issuesOf(metadata)]
    if (Result.isFailure(destination) || Result.isFailure(metadata) || issues.length > 0) return yield* invalid(issues)
    if (lacksAmountType(wire)) return yield* Result.fail(new AmountTypeRequired())
    const command: PayoutCommand = {
      ...termsOf(wire),
      destination: destination.success,
      // Left out of the fingerprint unless it is a refund, so that other fingerprints equal those of the previous release.
      ...(wire.refund_of === undefined ? {} : { refundOf: wire.refund_of }),
      narration: wire.narration ?? null,
      metadata: metadata.success.text
    }
    const said = { ...command, destination: asSaid(wire.destination, destination.success), metadata: metadata.success.tree }
    return { command, fingerprint: said, ignored }
  })

/** The body of `POST /v1/payouts/quote`. */
export const quoteBody = (body: JsonTree): Result.Result<Body<PayoutTerms>, BodyError | AmountTypeRequired> =>
  Result.gen(function* () {
    const { ignored, wire } = yield* decodeQuote(body)
    const destination = wire.destination === undefined ? Result.succeed(null) : destinationOf(wire.destination)
    const issues = [...termIssues(wire), ...issuesOf(destination)]
    if (Result.isFailure(destination) || issues.length > 0) return yield* invalid(issues)
    if (lacksAmountType(wire)) return yield* Result.fail(new AmountTypeRequired())
    const command: PayoutTerms = { ...termsOf(wire), destination: destination.success }
    return { command, fingerprint: command, ignored }
  })

/** The body of `POST /v1/payouts/quotes`: a list of quote bodies, each of which is decoded separately. */
export const quotesBody = (body: JsonTree): Result.Result<Body<ReadonlyArray<JsonTree>>, BodyError> => {
  const items = isJsonObject(body) && Object.hasOwn(body, "items") ? body["items"] : undefined
  if (!isJsonObject(body)) return invalid([{ path: "", message: "The body must be an object." }])
  if (items === undefined) return invalid([{ path: "items", message: "is required" }])
  if (!Array.isArray(items) || items.length === 0 || items.length > MOST_QUOTES)
    return invalid([{ path: "items", message: `must be a list of 1 to ${MOST_QUOTES} payouts` }])
  const ignored = {
    *[Symbol.iterator]() {
      for (const name of Object.keys(body)) if (!quotesMembers.has(name)) yield name
      for (const [at, item] of items.entries())
        for (const path of Result.match(payoutBody(item), { onFailure: () => [], onSuccess: (read) => read.ignored }))
          yield `items.${at}.${path}`
    }
  }
  return Result.succeed({ command: items, fingerprint: items.length, ignored })
}
const quotesMembers = new Set(["items", "mode", "is_test_mode"])

const listedPayout = (body: JsonTree): ListedPayout => Result.map(payoutBody(body), ({ command }) => command)

const termsOf = (wire: Wire) => ({
  amount: minor(BigInt(wire.amount_minor)),
  currency: wire.currency,
  destinationCurrency: wire.destination_currency ?? wire.currency,
  country: wire.country,
  method: wire.method,
  amountType: wire.amount_type ?? null,
  deductFeeFromAmount: wire.deduct_fee_from_amount ?? false
})

const termIssues = (wire: Wire): ReadonlyArray<Issue> => [
  ...(wire.destination === undefined || wire.destination.type === wire.method
    ? []
    : [{ path: "destination.type", message: "must be the same as method" }]),
  ...(wire.amount_type === "DESTINATION" && wire.deduct_fee_from_amount === true
    ? [{ path: "deduct_fee_from_amount", message: "must not be true where amount_type is DESTINATION" }]
    : [])
]

const lacksAmountType = (wire: Wire): boolean =>
  wire.amount_type === undefined && (wire.destination_currency ?? wire.currency) !== wire.currency
