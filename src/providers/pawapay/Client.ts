import { createHash, type KeyObject, sign } from "node:crypto"
import { Clock, Effect, type Redacted } from "effect"
import { iso } from "../../domain/Instant.ts"
import { bearerClient, type Client } from "../Client.ts"
import type { ContractFees } from "../ContractFees.ts"
import type { ProviderCall, Transport } from "../Transport.ts"

/** A private P-256 key, and the name of its public key at pawaPay. */
export interface SigningKey {
  readonly id: string
  readonly key: KeyObject
}

/** One account at pawaPay. */
export interface PawapaySettings {
  /** Including the version: `https://api.pawapay.io/v2`. */
  readonly baseUrl: string
  readonly apiToken: Redacted.Redacted
  /** Signs requests that move money; null: they are not signed. */
  readonly signingKey: SigningKey | null
  /** Null: pawaPay's published keys. */
  readonly callbackKey: KeyObject | null
  /** The hosts of the callback URLs that are registered at pawaPay; empty: any host. */
  readonly callbackHosts: ReadonlyArray<string>
  /** The hosts from which statement files are fetched; `*.` at the beginning stands for all subdomains. */
  readonly statementHosts: ReadonlyArray<string>
  readonly fees: ContractFees
  /** For one call. */
  readonly timeoutMs: number
}

export const openClient = ({ apiToken, baseUrl, signingKey }: PawapaySettings, transport: Transport): Client =>
  bearerClient(baseUrl, apiToken, signingKey === null ? transport : signing(signingKey, transport))

/** A request with a body moves money or requests a file. */
const signing = (key: SigningKey, transport: Transport): Transport => ({
  call: (call) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => transport.call({ ...call, headers: signedHeaders(call, key, now) }))
})

/** As in pawaPay's samples. The wait for the account's pace, after signing, is much shorter. */
const LIFE_SECONDS = 60
/** How far our clock may be ahead of pawaPay's. A signature from the future fails the payment for good. */
const LEEWAY_SECONDS = 5

/** RFC 9421, over the six components that pawaPay's own callbacks cover. The signature is DER, as theirs are. */
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
