import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { Option, Redacted, Schema } from "effect"
import type { Reported } from "../domain/CallbackReport.ts"
import { isReference, type Reference } from "../domain/Ids.ts"
import type { Callbacks, RawCallback } from "../services/ports/Provider.ts"
import type { CallbackHint } from "../services/ports/ProviderInbox.ts"

/** Longer than any provider's ids. */
const LONGEST_ID = 64

/** The record that a verified body names; `id` is an identifier by which the provider can be polled. */
interface Named {
  readonly reference: string | null | undefined
  readonly id: string | null | undefined
  /** The reported outcome, from the provider's vocabulary. */
  readonly says?: Reported | undefined
}

/** Reads the record that a callback names. A genuine callback of an unknown shape names none; it is stored for an operator. */
export const hintReader = <A>(...reading: Parameters<typeof shapedHints<A>>): ((body: Uint8Array) => CallbackHint) => {
  const hintOf = shapedHints(...reading)
  return (body) => Option.getOrElse(hintOf(body), () => nothing)
}
const nothing: CallbackHint = { reference: null, providerReference: null }

/** The same for a provider whose callbacks carry no proof: a body of another shape is not accepted as a callback. */
export const shapedHints = <A>(
  schema: Schema.ConstraintDecoder<A>,
  namedIn: (body: A) => Named,
  ownReference: (text: string) => Reference | null = (text) => (isReference(text) ? text : null)
) => {
  const decode = bodyDecoder(schema)
  return (body: Uint8Array): Option.Option<CallbackHint> =>
    Option.map(Option.map(decode(body), namedIn), ({ id, reference, says }) => ({
      reference: reference === null || reference === undefined ? null : ownReference(reference),
      providerReference: id !== null && id !== undefined && id !== "" && id.length <= LONGEST_ID ? id : null,
      ...(says === undefined ? {} : { says })
    }))
}

export const bodyDecoder = <A>(schema: Schema.ConstraintDecoder<A>): ((body: Uint8Array) => Option.Option<A>) => {
  const decode = Schema.decodeUnknownOption(Schema.fromJsonString(schema))
  return (body) => decode(Buffer.from(body).toString("utf8"))
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s"{}[\]:,]+/g

/** The text of a JSON object's member, byte for byte as sent, for signatures over part of a body; undefined when absent. */
export const memberText = (json: string, name: string): string | undefined => {
  let depth = 0
  let before = ""
  let begin: number | undefined
  let isNext = false
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    if (isNext) begin = index
    if (token === "{" || token === "[") depth += 1
    if (token === "}" || token === "]") depth -= 1
    if (begin !== undefined && depth === 1) return json.slice(begin, index + token.length)
    isNext = begin === undefined && depth === 1 && token === ":" && before === JSON.stringify(name)
    before = token
  }
  return undefined
}

interface HmacSignature {
  readonly header: string
  readonly algorithm: "sha256" | "sha512"
  readonly secret: Redacted.Redacted
  readonly hintOf: (body: Uint8Array) => CallbackHint
}

/** A callback is genuine when its header is the hexadecimal HMAC of its bytes under the secret, which must not be empty. */
export const hmacCallbacks = ({ algorithm, header, hintOf, secret }: HmacSignature): Callbacks => ({
  verify: ({ body, headers }) => {
    const given = headers[header] ?? ""
    if (Redacted.value(secret) === "" || !hexadecimal[algorithm].test(given)) return Option.none()
    const expected = createHmac(algorithm, Redacted.value(secret)).update(body).digest()
    return timingSafeEqual(Buffer.from(given, "hex"), expected) ? Option.some(hintOf(body)) : Option.none()
  }
})

const hexadecimal = { sha256: /^[0-9a-f]{64}$/i, sha512: /^[0-9a-f]{128}$/i }

/** For callbacks that contain the secret. Compares digests of equal length, so that timing reveals nothing of the secret. */
export const isSameSecret = (given: string, secret: string): boolean => timingSafeEqual(digestOf(given), digestOf(secret))
const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest()

interface TimedSignature {
  readonly header: string
  /** One per account that calls this address. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
  readonly hintOf: (body: Uint8Array) => CallbackHint
}

/**
 * A callback is genuine when its header is `t=1764342245,v1=9a1c…`, where `v1` is the hexadecimal HMAC-SHA256 of these seconds
 * followed by the body; during a secret rotation there are several `v1`. Without the header, it is genuine when it has the
 * secret as a bearer token. The timestamp's age is not checked: a callback only triggers a poll, so a replay changes nothing.
 */
export const timedOrBearerCallbacks = ({ header, hintOf, secrets }: TimedSignature): Callbacks => ({
  verify: (callback) =>
    secrets.some((secret) => Redacted.value(secret) !== "" && isTimedOrShown(callback, header, Redacted.value(secret)))
      ? Option.some(hintOf(callback.body))
      : Option.none()
})

const isTimedOrShown = ({ body, headers }: RawCallback, header: string, secret: string): boolean => {
  const signature = headers[header]
  if (signature === undefined) return isSameSecret(/^Bearer (\S+)$/i.exec(headers["authorization"] ?? "")?.[1] ?? "", secret)
  const parts = signature.split(",").map((part) => part.trim().split("="))
  const [, seconds = ""] = parts.find(([name]) => name === "t") ?? []
  if (!/^\d{1,12}$/.test(seconds)) return false
  const expected = createHmac("sha256", secret).update(seconds).update(body).digest("hex")
  return parts.some(([name, given = ""]) => name === "v1" && isSameSecret(given.toLowerCase(), expected))
}
