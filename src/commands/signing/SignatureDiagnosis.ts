import { timingSafeEqual } from "node:crypto"
import { Option, Redacted } from "effect"
import { parseKeyHeader } from "../../domain/StringToSign.ts"
import { signature } from "../../services/admission/Signature.ts"
import { type HeaderValues, headerMismatches, headerOf, type SignatureMismatch } from "./RefusedRequest.ts"
import { type Recipe, rightRecipe, type SentRequest, textOf, type Variation } from "./SignatureRecipe.ts"
import { variations } from "./SignatureVariations.ts"
import type { KeyFile } from "./SignedHeaders.ts"

/** The faults of a refused request, and the string that it should have signed. */
export interface Diagnosis {
  readonly stringToSign: string
  readonly bodyHash: string
  /** Whether the signature is right for the request as it is given. */
  readonly isSignatureRight: boolean
  /** Whether known mistakes make it right. */
  readonly isExplained: boolean
  readonly differences: ReadonlyArray<SignatureMismatch>
}

/**
 * Compares a refused request with what the gateway would compute for it. Where the signature differs, known mistakes are tried,
 * one alone and then any two in different parts, until the signature matches.
 */
export const diagnose = (sent: Omit<SentRequest, "host">, headers: HeaderValues, key: KeyFile, nowMs: number): Diagnosis => {
  const host = headers.has("host") ? headerOf(headers, "host") : sent.urlHost
  const request = { ...sent, host }
  const named = Option.getOrElse(parseKeyHeader(headerOf(headers, "x-gateway-key")), () => ({
    appId: key.app_id,
    keyId: key.key_id
  }))
  const right = rightRecipe(
    request,
    {
      appId: named.appId,
      keyId: named.keyId,
      timestamp: headerOf(headers, "x-gateway-timestamp"),
      nonce: headerOf(headers, "x-gateway-nonce")
    },
    key
  )
  const claimed = digestOf(headerOf(headers, "x-gateway-signature"))
  const isRight = claimed !== undefined && makes(right, claimed)
  const byThemselves = headerMismatches(headers, key, nowMs)
  const mistakes = claimed === undefined || isRight ? [] : mistakesThatMake(claimed, right, variations(right, request, key))
  return {
    stringToSign: textOf(right),
    bodyHash: right.body,
    isSignatureRight: isRight,
    isExplained: mistakes.length > 0,
    differences: [
      ...byThemselves,
      ...(host.toLowerCase() === sent.urlHost.toLowerCase() || mistakes.some(({ part }) => part === "host")
        ? []
        : [{ part: "host" as const, detail: `Host is ${host}, and the address that was called is ${sent.urlHost}` }]),
      ...mistakes.map(({ detail, part }) => ({ part, detail }))
    ]
  }
}

/** The bytes of a signature in any form that clients send: hexadecimal in either case or base64, with or without `v1=`. */
const digestOf = (header: string): Uint8Array | undefined => {
  const text = header.replace(/^v1=/i, "")
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64")
  return bytes.length === 32 ? bytes : undefined
}

const makes = (recipe: Recipe, claimed: Uint8Array): boolean =>
  timingSafeEqual(signature(Redacted.make(recipe.secret), textOf(recipe)), claimed)

const mistakesThatMake = (claimed: Uint8Array, right: Recipe, tried: ReadonlyArray<Variation>): ReadonlyArray<Variation> => {
  const one = tried.find(({ change }) => makes({ ...right, ...change }, claimed))
  if (one !== undefined) return [one]
  for (const [at, first] of tried.entries())
    for (const second of tried.slice(at + 1))
      if (first.part !== second.part && makes({ ...right, ...first.change, ...second.change }, claimed)) return [first, second]
  return []
}
