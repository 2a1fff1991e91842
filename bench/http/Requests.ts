import { createHash, createHmac } from "node:crypto"

/** A tenant's credentials, as `key issue` shows them. */
export interface Key {
  readonly app_id: string
  readonly key_id: string
  readonly api_key: string
  readonly signing_secret: string
}

const EMPTY_HASH = createHash("sha256").update("").digest("hex")
// Every run's nonces, keys and numbers are its own.
const run = `${process.pid.toString(36)}${Date.now().toString(36)}`
let made = 0

/** A number of MTN Uganda; another one each time, so that no recipient is paid more often than a person would be. */
const msisdn = (): string => `25677${String(1_000_000 + (made % 9_000_000))}`

/** The bytes of one signed request, good for the next two minutes. */
export const payoutRequest = (key: Key, port: number, recipient?: string): Buffer => {
  made++
  const body = JSON.stringify({
    amount_minor: 5000 + (made % 1000),
    currency: "UGX",
    country: "UG",
    method: "momo",
    destination: { type: "momo", msisdn: recipient ?? msisdn(), network: "MTN", country: "UG" },
    narration: "invoice 4711",
    metadata: { order: `o-${made}`, customer: "c-1" }
  })
  return signed(key, port, { method: "POST", path: "/v1/payouts", body, idempotencyKey: `k-${run}-${made}` })
}

export const readRequest = (key: Key, port: number, reference: string): Buffer => {
  made++
  return signed(key, port, { method: "GET", path: `/v1/payouts/${reference}`, body: "" })
}

/** Where a gateway takes the provider's callbacks, and what they are signed with. */
export interface CallbackTarget {
  readonly path: string
  readonly secret: string
}

/** The provider's word that there is news of a payout. */
export const callbackRequest = ({ path, secret }: CallbackTarget, port: number, reference: string): Buffer => {
  const body = JSON.stringify({ type: "payout.success", data: { transactionRef: reference, status: "successful" } })
  const lines = [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-eversend-signature: ${createHmac("sha512", secret).update(body).digest("hex")}`
  ]
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`)
}

interface Call {
  readonly method: string
  readonly path: string
  readonly body: string
  /** Only what has a body needs one. */
  readonly idempotencyKey?: string
}

const signed = (key: Key, port: number, { body, idempotencyKey, method, path }: Call): Buffer => {
  const host = `127.0.0.1:${port}`
  const timestamp = String(Math.floor(Date.now() / 1000))
  const nonce = `n-${run}-${String(made).padStart(12, "0")}`
  const hash = body === "" ? EMPTY_HASH : createHash("sha256").update(body).digest("hex")
  const text = ["v1", key.app_id, key.key_id, host, method, path, "", timestamp, nonce, hash].join("\n")
  const signature = createHmac("sha256", key.signing_secret).update(text).digest("hex")
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: ${host}`,
    `x-gateway-key: ${key.app_id}.${key.key_id}.${key.api_key}`,
    `x-gateway-timestamp: ${timestamp}`,
    `x-gateway-nonce: ${nonce}`,
    `x-gateway-signature: v1=${signature}`,
    ...(body === ""
      ? []
      : [`content-type: application/json`, `content-length: ${Buffer.byteLength(body)}`, `idempotency-key: ${idempotencyKey}`])
  ]
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`)
}
