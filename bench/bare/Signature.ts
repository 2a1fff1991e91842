import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"

export interface Tenant {
  readonly app_id: string
  readonly key_id: string
  readonly api_key: string
  readonly signing_secret: string
}

const MAX_AGE_SECONDS = 120
const MAX_AHEAD_SECONDS = 30
const NONCE = /^[A-Za-z0-9_-]{16,64}$/
const SIGNATURE = /^v1=[0-9a-f]{64}$/

/** Who signed the request, and with which nonce; undefined whatever is wrong. */
export const signedBy = (
  request: IncomingMessage,
  body: Buffer,
  tenants: ReadonlyMap<string, Tenant>
): { readonly tenant: Tenant; readonly nonce: string } | undefined => {
  const { headers, method = "", url = "" } = request
  const [appId = "", keyId = "", apiKey = ""] = String(headers["x-gateway-key"]).split(".")
  const timestamp = String(headers["x-gateway-timestamp"])
  const nonce = String(headers["x-gateway-nonce"])
  const sent = String(headers["x-gateway-signature"])
  const tenant = tenants.get(`${appId}.${keyId}`)
  const age = Math.floor(Date.now() / 1000) - Number(timestamp)
  const isWellFormed = NONCE.test(nonce) && SIGNATURE.test(sent) && age <= MAX_AGE_SECONDS && age >= -MAX_AHEAD_SECONDS
  if (tenant === undefined || !isWellFormed) return undefined
  const hash = createHash("sha256").update(body).digest("hex")
  const [path = "", query = ""] = url.split("?")
  const host = String(headers.host).toLowerCase()
  const text = ["v1", appId, keyId, host, method, path, canonical(query), timestamp, nonce, hash].join("\n")
  const mac = createHmac("sha256", tenant.signing_secret).update(text).digest()
  return timingSafeEqual(mac, Buffer.from(sent.slice(3), "hex")) && same(apiKey, tenant.api_key) ? { tenant, nonce } : undefined
}

const same = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other))
const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

const canonical = (query: string): string =>
  query === ""
    ? ""
    : [...new URLSearchParams(query)]
        .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
        .sort()
        .join("&")
