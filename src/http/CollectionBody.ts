import { Redacted, Result } from "effect"
import type { Issue } from "../domain/errors/Terminal.ts"
import { minor } from "../domain/Money.ts"
import type { CollectionCommand } from "../services/collections/Collections.ts"
import { CollectionBody } from "./api/Collections.ts"
import { type Body, type BodyError, invalid, issuesOf, makeDecoder, metadataOf, opened } from "./Body.ts"
import { bounded, inside } from "./Issues.ts"
import { cardIssues, payerOf, sourceOf } from "./Parties.ts"
import { isJsonObject, type JsonTree } from "./StrictJson.ts"

type Wire = typeof CollectionBody.Type

const decode = makeDecoder(CollectionBody)

/** The body of `POST /v1/collections`. */
export const collectionBody = (body: JsonTree): Result.Result<Body<CollectionCommand>, BodyError> =>
  Result.gen(function* () {
    const card = cardData(body)
    const decoded = decode(body)
    if (Result.isFailure(decoded)) return yield* withIssues(decoded.failure, card)
    const { ignored, tree, wire } = decoded.success
    const source = sourceOf(wire.source, wire.country)
    const metadata = metadataOf(tree)
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
    return { command, fingerprint: opened({ ...command, metadata: metadata.success.tree }), ignored }
  })

/** Card data is looked for in the whole source, because what the contract does not name would otherwise only be ignored. */
export const cardData = (body: JsonTree): ReadonlyArray<Issue> => {
  if (!isJsonObject(body)) return []
  const source = body["source"]
  const msisdn = isJsonObject(source) && source["type"] === "momo" ? source["msisdn"] : undefined
  return bounded(cardIssues(source, inside(null, "source"), typeof msisdn === "string" ? msisdn : null))
}

export const withIssues = (refusal: BodyError, issues: ReadonlyArray<Issue>): Result.Result<never, BodyError> =>
  refusal._tag === "validation_failed" ? invalid(refusal.issues, issues) : Result.fail(refusal)

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
