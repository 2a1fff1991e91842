import { createHmac, timingSafeEqual } from "node:crypto"
import { Option, Redacted, Schema } from "effect"
import type { CountryAccount } from "../../providers/mtn/Client.ts"
import type { Product } from "../../providers/mtn/Wire.ts"

/** Seconds. */
export const TOKEN_LIFE = 3600

type User = Pick<CountryAccount, "userId" | "apiKey">

const Claims = Schema.fromJsonString(Schema.Struct({ userId: Schema.String, product: Schema.String, exp: Schema.Int }))

/** Opaque to clients. It is good for one product, and outlives a restart because its key is the API key. */
export const issueToken = ({ apiKey, userId }: User, product: Product, nowMs: number): string => {
  const exp = Math.floor(nowMs / 1000) + TOKEN_LIFE
  const payload = Buffer.from(JSON.stringify({ userId, product, exp })).toString("base64url")
  return `${payload}.${signature(apiKey, payload).toString("base64url")}`
}

/** Whether a token is this user's, for this product, and has not expired. */
export const isTokenOf = ({ apiKey, userId }: User, product: Product, token: string, nowMs: number): boolean => {
  const [payload = "", mark = ""] = token.split(".")
  const genuine = signature(apiKey, payload)
  const given = Buffer.from(mark, "base64url")
  if (given.length !== genuine.length || !timingSafeEqual(given, genuine)) return false
  const claims = Schema.decodeUnknownOption(Claims)(Buffer.from(payload, "base64url").toString("utf8"))
  return Option.exists(claims, (one) => one.userId === userId && one.product === product && one.exp * 1000 > nowMs)
}

const signature = (apiKey: Redacted.Redacted, text: string): Buffer =>
  createHmac("sha256", Redacted.value(apiKey)).update(text).digest()
