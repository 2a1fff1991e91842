import { Effect, Redacted, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import type { AuthorizeCommand } from "../services/collections/CodeFlow.ts"
import type { CodeCommand } from "../services/collections/CodeRequests.ts"
import type { Otp } from "../services/ports/Provider.ts"
import { AuthorizeBody, CodeBody } from "./api/Collections.ts"
import { type Body, type BodyError, invalid, issuesOf, makeDecoder, opened, readTree } from "./Body.ts"
import { cardData, withIssues } from "./CollectionBody.ts"
import { REQUIRED } from "./Issues.ts"
import { sourceOf } from "./Parties.ts"
import { Signed } from "./SignedRequest.ts"
import { isJsonObject, type JsonTree } from "./StrictJson.ts"

type Wire = typeof AuthorizeBody.Type

const decodeAuthorize = makeDecoder(AuthorizeBody)
const decodeCode = makeDecoder(CodeBody)

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
      return { command, fingerprint: opened(command), ignored }
    })

/** Marks the answer to a form that is only still accepted. */
export const deprecating = <E, R>(
  answer: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | Signed> =>
  Effect.flatMap(Signed, ({ body }) => {
    const legacy = Result.match(readTree(body), { onSuccess: isLegacy, onFailure: () => false })
    return legacy ? Effect.map(answer, HttpServerResponse.setHeader("deprecation", "true")) : answer
  })

const isLegacy = (body: JsonTree): boolean =>
  isJsonObject(body) &&
  !Object.hasOwn(body, "authorization") &&
  ["otp", "pin_id", "pin"].some((name) => Object.hasOwn(body, name))

/** The body of `POST /v1/collections/otp`. */
export const codeBody = (body: JsonTree): Result.Result<Body<CodeCommand>, BodyError> =>
  Result.gen(function* () {
    const card = cardData(body)
    const decoded = decodeCode(body)
    if (Result.isFailure(decoded)) return yield* withIssues(decoded.failure, card)
    const { ignored, wire } = decoded.success
    const source = sourceOf(wire.source, wire.country)
    const issues = [...issuesOf(source), ...card]
    if (Result.isFailure(source) || source.success === null || issues.length > 0) return yield* invalid(issues)
    const command: CodeCommand = { country: wire.country, source: source.success }
    return { command, fingerprint: opened(command), ignored }
  })

const otpOf = (wire: Wire): Result.Result<Otp, BodyError> => {
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
