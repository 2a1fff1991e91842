import { Option } from "effect"
import { canonicalQuery, pathOf, type SignedFields } from "../../domain/StringToSign.ts"
import { bodyHash } from "../../services/admission/Signature.ts"
import type { SignatureMismatch } from "./RefusedRequest.ts"
import { hasSignedBody, type KeyFile } from "./SignedHeaders.ts"

/** The ten fields of the string to sign, the text between them, and the secret: everything that a signature is made of. */
export interface Recipe extends Omit<SignedFields, "target" | "bodyHash"> {
  readonly path: string
  readonly query: string
  readonly body: string
  readonly secret: string | Uint8Array
  readonly join: (fields: ReadonlyArray<string>) => string
}

/** One mistake that clients make: what it changes in the recipe, and how to fix it. */
export interface Variation extends SignatureMismatch {
  readonly change: Partial<Recipe>
}

/** The sent request, as far as the gateway sees it. */
export interface SentRequest {
  readonly method: string
  readonly url: string
  /** The `Host` header, or the URL's own host. */
  readonly host: string
  readonly urlHost: string
  readonly target: string
  readonly body: Uint8Array
}

export const textOf = ({ join, ...recipe }: Recipe): string =>
  join([
    "v1",
    recipe.appId,
    recipe.keyId,
    recipe.host,
    recipe.method,
    recipe.path,
    recipe.query,
    recipe.timestamp,
    recipe.nonce,
    recipe.body
  ])

/** The recipe that the gateway computes from a request. A query that cannot be canonicalised stays as it was sent. */
export const rightRecipe = (
  sent: SentRequest,
  named: Pick<Recipe, "appId" | "keyId" | "timestamp" | "nonce">,
  key: KeyFile
): Recipe => {
  const raw = sent.target.slice(pathOf(sent.target).length + 1)
  return {
    ...named,
    host: sent.host.toLowerCase(),
    method: sent.method.toUpperCase(),
    path: pathOf(sent.target),
    query: Option.getOrElse(canonicalQuery(raw), () => raw),
    body: bodyHash(hasSignedBody(sent.method) ? sent.body : new Uint8Array()),
    secret: key.signing_secret,
    join: (fields) => fields.join("\n")
  }
}
