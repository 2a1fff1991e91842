/** What `gateway key issue --json` prints. */
export interface Key {
  readonly app_id: string
  readonly key_id: string
  readonly api_key: string
  readonly signing_secret: string
}

/** A newline that a file ended with belongs to no part of a key. It is said here, because the runtime's own error has the whole header. */
export const isKeyPart = (value: unknown): value is string => typeof value === "string" && /^[!-~]+$/.test(value)

/** What is signed besides the key. */
export interface Unsigned {
  readonly method: string
  /** As in the `Host` header, with the port if it has one. */
  readonly host: string
  readonly path: string
  /** Without the question mark, as `queryText` writes it. */
  readonly query: string
  readonly body: string
}

/** The four headers of one attempt: a nonce is taken once, and a timestamp lasts two minutes. */
export const signedHeaders = async (key: Key, unsigned: Unsigned): Promise<Record<string, string>> => {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const nonce = crypto.randomUUID()
  return {
    "X-Gateway-Key": `${key.app_id}.${key.key_id}.${key.api_key}`,
    "X-Gateway-Timestamp": timestamp,
    "X-Gateway-Nonce": nonce,
    "X-Gateway-Signature": await signature(key, { ...unsigned, timestamp, nonce })
  }
}

/** The value of `X-Gateway-Signature`: the HMAC of ten fields, joined by newlines. */
export const signature = async (
  key: Key,
  { body, host, method, nonce, path, query, timestamp }: Unsigned & { readonly timestamp: string; readonly nonce: string }
): Promise<string> => {
  const hash = hex(await crypto.subtle.digest("SHA-256", bytes(body)))
  const text = ["v1", key.app_id, key.key_id, host.toLowerCase(), method, path, query, timestamp, nonce, hash].join("\n")
  const algorithm = { name: "HMAC", hash: "SHA-256" }
  const secret = await crypto.subtle.importKey("raw", bytes(key.signing_secret), algorithm, false, ["sign"])
  return `v1=${hex(await crypto.subtle.sign("HMAC", secret, bytes(text)))}`
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** A query in the order and the encoding in which it is signed. */
export const queryText = (query: Query): string =>
  Object.entries(query)
    .flatMap(([name, value]) => (value === undefined ? [] : [[encoded(name), encoded(String(value))] as const]))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join("&")

/** RFC 3986: what `encodeURIComponent` leaves is encoded as well. */
export const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

const bytes = (text: string) => new TextEncoder().encode(text)
const hex = (buffer: ArrayBuffer): string =>
  Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("")
