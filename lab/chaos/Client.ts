import { createHash, createHmac, randomBytes } from "node:crypto"

// A tenant's own client, written from the contract and sharing no code with the gateway.

export interface Key {
  readonly app_id: string
  readonly key_id: string
  readonly api_key: string
  readonly signing_secret: string
}

export interface Answer {
  readonly status: number
  /** Its bytes. */
  readonly text: string
  readonly body: {
    readonly data?: Readonly<Record<string, unknown>> & unknown
    readonly error?: {
      readonly code: string
      readonly terminal: boolean
      readonly retriable: boolean
      readonly ambiguous: boolean
      readonly details: Readonly<Record<string, unknown>>
    }
  }
}

const ANSWER_WITHIN_MS = 15_000

export interface Request {
  readonly method: string
  readonly target: string
  readonly body?: object
  readonly idempotencyKey?: string
}

/** Undefined where no whole answer came: the client knows nothing. */
export const send = async (
  gateway: { readonly host: string; readonly url: string },
  key: Key,
  { body, idempotencyKey, method, target }: Request
): Promise<Answer | undefined> => {
  const text = body === undefined ? "" : JSON.stringify(body)
  const timestamp = String(Math.floor(Date.now() / 1000))
  const nonce = randomBytes(12).toString("hex")
  const bodyHash = createHash("sha256").update(text).digest("hex")
  const [path = "", query = ""] = target.split("?")
  const signed = ["v1", key.app_id, key.key_id, gateway.host, method, path, query, timestamp, nonce, bodyHash].join("\n")
  const signature = createHmac("sha256", key.signing_secret).update(signed).digest("hex")
  try {
    const answer = await fetch(`${gateway.url}${target}`, {
      method,
      headers: {
        "content-type": "application/json",
        "x-gateway-key": `${key.app_id}.${key.key_id}.${key.api_key}`,
        "x-gateway-timestamp": timestamp,
        "x-gateway-nonce": nonce,
        "x-gateway-signature": `v1=${signature}`,
        ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey })
      },
      ...(text === "" ? {} : { body: text }),
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS)
    })
    const said = await answer.text()
    return { status: answer.status, text: said, body: JSON.parse(said) }
  } catch {
    return undefined
  }
}
