import { Clock, Effect, Option, Redacted, Schema } from "effect"
import { type SignedFields, stringToSign } from "../../domain/StringToSign.ts"
import { bodyHash, signature } from "../../services/admission/Signature.ts"
import { RandomSource } from "../../services/ports/RandomSource.ts"
import { CommandRefusal } from "../CommandRefusal.ts"

/** The output of `key issue --json`, as far as signing needs it. */
export const KeyFile = Schema.Struct({
  app_id: Schema.String,
  key_id: Schema.String,
  api_key: Schema.String,
  signing_secret: Schema.String
})
export type KeyFile = typeof KeyFile.Type

export const decodeKeyFile = Schema.decodeUnknownEffect(Schema.fromJsonString(KeyFile))

export interface Unsigned {
  readonly method: string
  readonly url: string
  readonly body: Uint8Array
}

/** The four headers by their names, and the fields that they sign. */
export interface Signed {
  readonly headers: Readonly<Record<string, string>>
  readonly fields: SignedFields
  readonly text: string
}

/** Signs as a tenant's own client would (contract SIG-4 to SIG-8): the host and the target are taken as the URL spells them. */
export const sign = Effect.fn("sign")(function* (key: KeyFile, { body, method, url }: Unsigned) {
  const { reference } = yield* RandomSource
  const nonce = yield* reference
  const timestamp = String(Math.floor((yield* Clock.currentTimeMillis) / 1000))
  const { host, target } = yield* addressOf(url)
  const hash = bodyHash(hasSignedBody(method) ? body : new Uint8Array())
  const fields = { appId: key.app_id, keyId: key.key_id, host, method, target, timestamp, nonce, bodyHash: hash }
  const text = stringToSign(fields)
  if (Option.isNone(text))
    return yield* new CommandRefusal(`the query of ${url} cannot be signed: a % must be followed by two hexadecimal digits`)
  const headers = {
    "X-Gateway-Key": `${key.app_id}.${key.key_id}.${key.api_key}`,
    "X-Gateway-Timestamp": timestamp,
    "X-Gateway-Nonce": nonce,
    "X-Gateway-Signature": `v1=${Buffer.from(signature(Redacted.make(key.signing_secret), text.value)).toString("hex")}`
  }
  return { headers, fields, text: text.value }
})

export const signingHeaders = (key: KeyFile, request: Unsigned) => Effect.map(sign(key, request), ({ headers }) => headers)

export const headerLines = (headers: Readonly<Record<string, string>>): ReadonlyArray<string> =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}`)

/** A body sent with GET or DELETE is ignored. */
export const hasSignedBody = (method: string): boolean => method.toUpperCase() !== "GET" && method.toUpperCase() !== "DELETE"

/** `URL` would rewrite the path; only its host is as clients send it. */
export const addressOf = (url: string) => {
  const [, target] = /^https?:\/\/[^/?#]+([^#]*)/i.exec(url) ?? []
  if (target === undefined || !URL.canParse(url)) return Effect.fail(new CommandRefusal(`${url} is not an http or https address`))
  return Effect.succeed({ host: new URL(url).host, target: target.startsWith("/") ? target : `/${target}` })
}
