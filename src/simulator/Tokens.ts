import { createHmac, timingSafeEqual } from "node:crypto"
import { Option, Redacted, Result, Schema } from "effect"

/** The purpose of a token. Each kind has its own key, derived from the account's secret, so that tokens survive a restart. */
export interface TokenKind {
  readonly name: string
  readonly lifeSeconds: number
}

const Times = Schema.fromJsonString(Schema.Struct({ iat: Schema.Int, exp: Schema.Int }))

const header = Buffer.from(JSON.stringify({ alg: "HS256", typ: "JWT" })).toString("base64url")

/** A JWT (HS256). */
export const issueToken = (kind: TokenKind, secret: Redacted.Redacted, claims: object, nowMs: number): string => {
  const iat = Math.floor(nowMs / 1000)
  const payload = Buffer.from(JSON.stringify({ ...claims, iat, exp: iat + kind.lifeSeconds })).toString("base64url")
  return `${header}.${payload}.${signature(kind, secret, `${header}.${payload}`).toString("base64url")}`
}

/** Reads the claims of a token that is genuine and has not expired. */
export const readToken =
  <A>(kind: TokenKind, claims: Schema.ConstraintDecoder<A>) =>
  (secret: Redacted.Redacted, token: string, nowMs: number): Option.Option<A> => {
    const [head = "", payload = "", mark = ""] = token.split(".")
    const genuine = signature(kind, secret, `${head}.${payload}`)
    const given = Buffer.from(mark, "base64url")
    if (given.length !== genuine.length || !timingSafeEqual(given, genuine)) return Option.none()
    const text = Buffer.from(payload, "base64url").toString("utf8")
    const times = Schema.decodeUnknownResult(Times)(text)
    if (Result.isFailure(times) || times.success.exp * 1000 <= nowMs) return Option.none()
    return Schema.decodeUnknownOption(Schema.fromJsonString(claims))(text)
  }

const signature = ({ name }: TokenKind, secret: Redacted.Redacted, text: string): Buffer =>
  createHmac("sha256", createHmac("sha256", Redacted.value(secret)).update(name).digest())
    .update(text)
    .digest()
