import { createHash, type KeyObject, sign } from "node:crypto"
import { Clock, Effect, type Redacted } from "effect"
import { iso } from "../../domain/Instant.ts"
import { bearerClient, type Client } from "../Client.ts"
import type { ContractFees } from "../ContractFees.ts"
import type { ProviderCall, Transport } from "../Transport.ts"

/** A private key on P-256, and the name under which pawaPay has its public half. */
export interface SigningKey {
  readonly id: string
  readonly key: KeyObject
}

/** One account at pawaPay. */
export interface PawapaySettings {
  /** With the version: `https://api.pawapay.io/v2`. */
  readonly baseUrl: string
  readonly apiToken: Redacted.Redacted
  /** With what requests to move money are signed; null: they are not. */
  readonly signingKey: SigningKey | null
  /** Null: the keys that pawaPay names. */
  readonly callbackKey: KeyObject | null
  /** The hosts in the addresses that are registered at pawaPay for callbacks; none: whatever host a callback was sent to. */
  readonly callbackHosts: ReadonlyArray<string>
  /** The hosts from which files of statements are fetched; one that begins with `*.` stands for all below it. */
  readonly statementHosts: ReadonlyArray<string>
  readonly fees: ContractFees
  /** For one call. */
  readonly timeoutMs: number
}

export const openClient = ({ apiToken, baseUrl, signingKey }: PawapaySettings, transport: Transport): Client =>
  bearerClient(baseUrl, apiToken, signingKey === null ? transport : signing(signingKey, transport))

/** A request with a body moves money, or asks for a file. */
const signing = (key: SigningKey, transport: Transport): Transport => ({
  call: (call) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => transport.call({ ...call, headers: signedHeaders(call, key, now) }))
})

/** As pawaPay's own samples have it. A call waits for its turn first, which is much less. */
const LIFE_SECONDS = 60
/** A signature from the future is refused, and a refused signature fails the payment for good: so far may our clock be ahead of pawaPay's. */
const LEEWAY_SECONDS = 5

/** RFC 9421, over the six members that pawaPay's own callbacks cover; the signature itself is DER, as theirs are. */
const signedHeaders = ({ body, headers, method, url }: ProviderCall, { id, key }: SigningKey, now: number) => {
  if (body === null) return headers
  const { host, pathname } = new URL(url)
  const created = Math.floor(now / 1000) - LEEWAY_SECONDS
  const digest = `sha-512=:${createHash("sha512").update(body).digest("base64")}:`
  const members = {
    "@method": method,
    "@authority": host,
    "@path": pathname,
    "signature-date": iso(created * 1000),
    "content-digest": digest,
    "content-type": headers["content-type"] ?? ""
  }
  const names = Object.keys(members).map((name) => `"${name}"`)
  const input = `(${names.join(" ")});alg="ecdsa-p256-sha256";keyid="${id}";created=${created};expires=${created + LIFE_SECONDS}`
  const lines = Object.entries({ ...members, "@signature-params": input }).map(([name, value]) => `"${name}": ${value}`)
  return {
    ...headers,
    "signature-date": members["signature-date"],
    "content-digest": digest,
    "signature-input": `sig-pp=${input}`,
    signature: `sig-pp=:${sign("sha256", Buffer.from(lines.join("\n")), key).toString("base64")}:`
  }
}
