import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify
} from "node:crypto"
import { Redacted } from "effect"
import { iso } from "../../domain/Instant.ts"
import { CALLBACK_RETRIES } from "../Callbacks.ts"
import type { PlannedCallback } from "../Endings.ts"
import type { OutgoingCallback, SimulatedTransaction } from "../Facts.ts"
import type { SimulatedRequest } from "../SimulatedProvider.ts"
import type { PawapayAccount } from "./Responses.ts"
import { payment } from "./Transactions.ts"

const KEY_ID = "HTTP_EC_P256_KEY:1"
const LIFE_SECONDS = 60

/** One key for all accounts, as at pawaPay. It is derived from their tokens, so that a restarted simulator signs as before. */
export const signingKey = (accounts: ReadonlyArray<Pick<PawapayAccount, "apiToken">>): KeyObject => {
  const tokens = accounts.map(({ apiToken }) => Redacted.value(apiToken)).join(" ")
  const secret = createHash("sha256").update(`callbacks of ${tokens}`).digest()
  const curve = createECDH("prime256v1")
  curve.setPrivateKey(secret)
  const point = curve.getPublicKey()
  const text = (part: Buffer) => part.toString("base64url")
  const key = { kty: "EC", crv: "P-256", x: text(point.subarray(1, 33)), y: text(point.subarray(33)), d: text(secret) }
  return createPrivateKey({ key, format: "jwk" })
}

/** GET /public-key/http */
export const publicKeys = (key: KeyObject) => [
  { id: KEY_ID, key: createPublicKey(key).export({ type: "spki", format: "pem" }).toString() }
]

const forger = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey
const FORGED = "x-forged"

/** Unsigned, because the signature also covers the address. The odd white space reveals a check over other bytes. */
export const callbackOf = (transaction: SimulatedTransaction, { says, signature }: PlannedCallback): OutgoingCallback => ({
  body: `${JSON.stringify(payment(transaction, says), null, "\t ").replaceAll('": ', '"  :')}\n`,
  headers: { "content-type": "application/json", ...(signature === "forged" ? { [FORGED]: "" } : {}) },
  retries: signature === "genuine" ? CALLBACK_RETRIES : 0
})

/** The headers with the signature by RFC 9421, as DER. */
export const signedHeaders = (
  { body, headers }: OutgoingCallback,
  own: KeyObject,
  address: string,
  now: number
): OutgoingCallback["headers"] => {
  const { [FORGED]: forged, ...plain } = headers
  const { host, pathname } = new URL(address)
  const created = Math.floor(now / 1000)
  const digest = `sha-512=:${createHash("sha512").update(body).digest("base64")}:`
  const date = iso(now)
  const members = [
    ["@method", "POST"],
    ["@authority", host],
    ["@path", pathname],
    ["signature-date", date],
    ["content-digest", digest],
    ["content-type", plain["content-type"] ?? ""],
    ["content-length", String(Buffer.byteLength(body))]
  ] as const
  const parameters = `alg="ecdsa-p256-sha256";keyid="${KEY_ID}";created=${created};expires=${created + LIFE_SECONDS}`
  const input = `(${members.map(([name]) => `"${name}"`).join(" ")});${parameters}`
  const base = [...members.map(([name, value]) => `"${name}": ${value}`), `"@signature-params": ${input}`].join("\n")
  const key = forged === undefined ? own : forger
  return {
    ...plain,
    "content-digest": digest,
    "signature-date": date,
    "signature-input": `sig-pp=${input}`,
    signature: `sig-pp=:${sign("sha256", Buffer.from(base), key).toString("base64")}:`
  }
}

/** The parts that a merchant's signature has to cover, so that none of them can be replaced unnoticed. */
const COVERED = ["@method", "@authority", "@path", "signature-date", "content-digest", "content-type"]

/**
 * Whether a merchant's request is signed with its key over these bytes and this address, and is neither too old nor from the
 * future. By pawaPay's documents a signature states when it was made and when it expires; none may be in the future.
 */
export const isSigned = (
  request: SimulatedRequest,
  { id, key }: NonNullable<PawapayAccount["requestKey"]>,
  now: number
): boolean => {
  const said = (name: string) => request.header(name) ?? ""
  const at = said("signature-input").indexOf("=")
  const label = said("signature-input").slice(0, at)
  const input = said("signature-input").slice(at + 1)
  const [list = "", ...parameters] = input.split(";")
  const named = list
    .slice(1, -1)
    .split(" ")
    .map((name) => name.slice(1, -1))
  const given = (name: string) => parameters.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1)
  const derived: Readonly<Record<string, string>> = {
    "@method": request.method,
    "@authority": said("host").toLowerCase(),
    "@path": request.path
  }
  const lines = [...named.map((name) => `"${name}": ${derived[name] ?? said(name)}`), `"@signature-params": ${input}`]
  const [start, end] = [`${label}=:`, ":"]
  const signature = said("signature")
  const seconds = now / 1000
  const [created, expires] = [Number(given("created")), Number(given("expires"))]
  return (
    COVERED.every((name) => named.includes(name)) &&
    given("alg") === '"ecdsa-p256-sha256"' &&
    given("keyid") === `"${id}"` &&
    created <= seconds &&
    Date.parse(said("signature-date")) <= now &&
    seconds <= expires &&
    expires - created <= LIFE_SECONDS &&
    said("content-digest") === `sha-512=:${createHash("sha512").update(request.body).digest("base64")}:` &&
    signature.startsWith(start) &&
    verify("sha256", Buffer.from(lines.join("\n")), key, Buffer.from(signature.slice(start.length, -end.length), "base64"))
  )
}
