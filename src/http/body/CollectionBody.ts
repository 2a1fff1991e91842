import { Effect, Redacted, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Issue } from "../../domain/errors/Terminal.ts"
import { minor } from "../../domain/Money.ts"
import type { AuthorizeCommand } from "../../services/collections/CodeFlow.ts"
import type { SendOtpCommand } from "../../services/collections/CodeRequests.ts"
import type { CollectionCommand } from "../../services/collections/Collections.ts"
import type { Otp } from "../../services/ports/Provider.ts"
import { AuthorizeBody, CodeBody, CollectionBody } from "../api/Collections.ts"
import { Signed } from "../api/SignedRequest.ts"
import { bounded, childPath, REQUIRED } from "../json/Issues.ts"
import { isJsonObject, type JsonTree } from "../json/StrictJson.ts"
import { type Body, type BodyError, invalid, issuesOf, makeDecoder, metadataWithinLimit, readTree } from "./Body.ts"
import { cardIssues, payerOf, sourceOf } from "./Parties.ts"

type Wire = typeof CollectionBody.Type

const decodeCollection = makeDecoder(CollectionBody)
const decodeAuthorize = makeDecoder(AuthorizeBody)
const decodeCode = makeDecoder(CodeBody)

/** The body of `POST /v1/collections`. */
export const collectionBody = (body: JsonTree): Result.Result<Body<CollectionCommand>, BodyError> =>
  Result.gen(function* () {
    const card = cardData(body)
    const decoded = decodeCollection(body)
    if (Result.isFailure(decoded)) return yield* withIssues(decoded.failure, card)
    const { ignored, tree, wire } = decoded.success
    const source = sourceOf(wire.source, wire.country)
    const metadata = metadataWithinLimit(tree)
    const issues = [...ruleIssues(wire), ...issuesOf(source), ...issuesOf(metadata), ...card]
    if (Result.isFailure(source) || Result.isFailure(metadata) || issues.length > 0) return yield* invalid(issues)
    const command: CollectionCommand = {
      amount: minor(BigInt(wire.amount_minor)),
      currency: wire.currency,
      country: wire.country,
      method: wire.method,
      source: source.success,
      redirectUrl: wire.redirect_url ?? null,
      narration: wire.narration ?? null,
      metadata: metadata.success.text,
      payer: payerOf(wire.payer ?? wire.customer),
      otp: wire.otp === undefined ? null : { pinId: wire.otp.pin_id, pin: Redacted.make(wire.otp.pin) }
    }
    return { command, fingerprint: { ...command, metadata: metadata.success.tree }, ignored }
  })

/** Searches the whole source for card data, because members that the contract does not name would otherwise only be ignored. */
const cardData = (body: JsonTree): ReadonlyArray<Issue> => {
  if (!isJsonObject(body)) return []
  const source = body["source"]
  const msisdn = isJsonObject(source) && source["type"] === "momo" ? source["msisdn"] : undefined
  return bounded(cardIssues(source, childPath(null, "source"), typeof msisdn === "string" ? msisdn : null))
}

const withIssues = (error: BodyError, issues: ReadonlyArray<Issue>): Result.Result<never, BodyError> =>
  error._tag === "validation_failed" ? invalid(error.issues, issues) : Result.fail(error)

const ruleIssues = (wire: Wire): ReadonlyArray<Issue> => [
  ...(wire.method === "momo" && wire.source === undefined ? [{ path: "source", message: "is required for method momo" }] : []),
  ...(wire.source === undefined || wire.source.type === wire.method
    ? []
    : [{ path: "source.type", message: "must be the same as method" }]),
  ...(wire.redirect_url === undefined && (wire.currency === "GHS" || wire.method !== "momo")
    ? [{ path: "redirect_url", message: "is required here: where the payer goes on afterwards" }]
    : []),
  ...(wire.payer !== undefined && wire.customer !== undefined
    ? [{ path: "customer", message: "must not be sent together with payer" }]
    : [])
]

/** The body of `POST /v1/collections/{reference}/authorize`, wrapped or in one of its legacy forms. */
export const authorizeBody =
  (reference: string) =>
  (body: JsonTree): Result.Result<Body<AuthorizeCommand>, BodyError> =>
    Result.gen(function* () {
      const card = cardData(body)
      const decoded = decodeAuthorize(body)
      if (Result.isFailure(decoded)) return yield* withIssues(decoded.failure, card)
      const { ignored, wire } = decoded.success
      if (card.length > 0) return yield* invalid(card)
      const otp = yield* otpOf(wire)
      const { country = null, msisdn, network } = wire.source
      const command: AuthorizeCommand = { reference, otp, source: { msisdn: Redacted.make(msisdn), network, country } }
      return { command, fingerprint: command, ignored }
    })

/** Adds the `Deprecation` header when the body has a legacy form. */
export const withDeprecationHeader = <E, R>(
  response: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | Signed> =>
  Effect.flatMap(Signed, ({ body }) => {
    const legacy = Result.match(readTree(body), { onSuccess: isLegacy, onFailure: () => false })
    return legacy ? Effect.map(response, HttpServerResponse.setHeader("deprecation", "true")) : response
  })

const isLegacy = (body: JsonTree): boolean =>
  isJsonObject(body) &&
  !Object.hasOwn(body, "authorization") &&
  ["otp", "pin_id", "pin"].some((name) => Object.hasOwn(body, name))

/** The body of `POST /v1/collections/otp`. */
export const codeBody = (body: JsonTree): Result.Result<Body<SendOtpCommand>, BodyError> =>
  Result.gen(function* () {
    const card = cardData(body)
    const decoded = decodeCode(body)
    if (Result.isFailure(decoded)) return yield* withIssues(decoded.failure, card)
    const { ignored, wire } = decoded.success
    const source = sourceOf(wire.source, wire.country)
    const issues = [...issuesOf(source), ...card]
    if (Result.isFailure(source) || source.success === null || issues.length > 0) return yield* invalid(issues)
    const command: SendOtpCommand = { country: wire.country, source: source.success }
    return { command, fingerprint: command, ignored }
  })

const otpOf = (wire: typeof AuthorizeBody.Type): Result.Result<Otp, BodyError> => {
  const flat = wire.pin_id === undefined && wire.pin === undefined ? undefined : { pin_id: wire.pin_id, pin: wire.pin }
  const forms = [wire.authorization?.otp, wire.otp, flat].filter((form) => form !== undefined)
  const [form, another] = forms
  if (form === undefined) return invalid([{ path: "authorization", message: REQUIRED }])
  if (another !== undefined)
    return invalid([{ path: "authorization", message: "must hold the code in one form only, and no other member beside it" }])
  if (form.pin_id === undefined) return invalid([{ path: "pin_id", message: REQUIRED }])
  if (form.pin === undefined) return invalid([{ path: "pin", message: REQUIRED }])
  return Result.succeed({ pinId: form.pin_id, pin: Redacted.make(form.pin) })
}
