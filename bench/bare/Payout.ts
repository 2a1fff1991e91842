import { randomBytes } from "node:crypto"

/** A payout as it was asked for. */
export interface Asked {
  readonly amount: bigint
  readonly currency: string
  readonly country: string
  readonly msisdn: string
  readonly network: string
  readonly narration: string | null
  readonly metadata: unknown
}

const CURRENCIES = new Set(["UGX", "RWF", "XAF", "XOF", "KES", "GHS", "NGN", "TZS", "ZMW", "USD", "EUR", "GBP"])
const MINIMUM = 500
const METADATA_BYTES = 4096

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The body's rules, by hand; a text says what is wrong. */
export const askedIn = (body: Buffer): Asked | string => {
  const wire = parsed(body)
  if (!isObject(wire)) return "the body is no JSON object"
  const { amount_minor, country, currency, destination, metadata = {}, method, narration = null } = wire
  if (!Number.isSafeInteger(amount_minor) || Number(amount_minor) < MINIMUM) return "amount_minor"
  if (typeof currency !== "string" || !CURRENCIES.has(currency)) return "currency"
  if (typeof country !== "string" || !/^[A-Z]{2}$/.test(country)) return "country"
  if (method !== "momo" || !isObject(destination) || destination["type"] !== method) return "method"
  if (narration !== null && typeof narration !== "string") return "narration"
  if (!isObject(metadata) || Buffer.byteLength(JSON.stringify(metadata)) > METADATA_BYTES) return "metadata"
  const { msisdn, network } = destination
  if (typeof msisdn !== "string" || !/^\d{9,15}$/.test(msisdn)) return "destination.msisdn"
  if (typeof network !== "string" || destination["country"] !== country) return "destination.network"
  return { amount: BigInt(String(amount_minor)), currency, country, msisdn, network, narration, metadata }
}

const parsed = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString("utf8"))
  } catch {
    return undefined
  }
}

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
export const newReference = (): string => Array.from(randomBytes(26), (byte) => ALPHABET[byte & 31]).join("")

/** The same members as the gateway's record. */
export const recordOf = (asked: Asked, reference: string, fee: number, at: string) => ({
  id: reference,
  reference,
  kind: "payout",
  provider: "eversend",
  status: "pending",
  needs_review: false,
  amount_minor: Number(asked.amount),
  amount_currency: asked.currency,
  currency: asked.currency,
  fees_minor: fee,
  total_amount_minor: Number(asked.amount) + fee,
  destination_amount_minor: Number(asked.amount),
  destination_currency: asked.currency,
  amount_type: null,
  deduct_fee_from_amount: false,
  masked_destination: `••••${asked.msisdn.slice(-4)}`,
  holder: null,
  returned: null,
  corridor: { country: asked.country, currency: asked.currency, direction: "payout", method: "momo" },
  network: asked.network,
  narration: asked.narration,
  metadata: asked.metadata,
  version: 1,
  is_test_mode: false,
  failure: null,
  created_at: at,
  updated_at: at,
  completed_at: null,
  expires_at: null
})
