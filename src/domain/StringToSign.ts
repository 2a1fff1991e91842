import { Option } from "effect"

/** The fields of the string to sign, without the literal `v1` (contract SIG-4). */
export interface SignedFields {
  readonly appId: string
  readonly keyId: string
  /** The `Host` header as sent, with its port if the client sent one. */
  readonly host: string
  readonly method: string
  /** The request target as sent: the path, and the query if there is one. Only the origin form (`/…`) can be signed. */
  readonly target: string
  readonly timestamp: string
  readonly nonce: string
  /** Lower-case hex SHA-256 of the raw body. */
  readonly bodyHash: string
}

/** The string to sign: the canonical text of a request, byte for byte; none where the target has no canonical form. */
export const stringToSign = (fields: SignedFields): Option.Option<string> => {
  if (!fields.target.startsWith("/")) return Option.none()
  return Option.map(canonicalQuery(queryOf(fields.target)), (query) =>
    [
      "v1",
      fields.appId,
      fields.keyId,
      fields.host.toLowerCase(),
      fields.method.toUpperCase(),
      pathOf(fields.target),
      query,
      fields.timestamp,
      fields.nonce,
      fields.bodyHash
    ].join("\n")
  )
}

/** The request target up to `?`, never decoded. */
export const pathOf = (target: string): string => {
  const mark = target.indexOf("?")
  return mark === -1 ? target : target.slice(0, mark)
}

/** The query of a request target: everything after the first `?`, never decoded. A request target has no fragment. */
export const queryOf = (target: string): string => {
  const mark = target.indexOf("?")
  return mark === -1 ? "" : target.slice(mark + 1)
}

/**
 * The parameters of a query in their order, decoded; none for a bad escape or one that is not UTF-8. A `+` is a plus (contract SIG-7). The
 * string to sign and the endpoint both use these, so that a request has one meaning.
 */
export const queryParameters = (query: string): Option.Option<ReadonlyArray<readonly [name: string, value: string]>> => {
  const parameters: Array<readonly [string, string]> = []
  for (const segment of query.split("&")) {
    if (segment === "") continue
    const equals = segment.indexOf("=")
    const name = decoded(equals === -1 ? segment : segment.slice(0, equals))
    const value = decoded(equals === -1 ? "" : segment.slice(equals + 1))
    if (name === undefined || value === undefined) return Option.none()
    parameters.push([name, value])
  }
  return Option.some(parameters)
}

/** Parameters decoded, encoded again and sorted by encoded key, then by encoded value; none for a bad escape or one that is not UTF-8. */
export const canonicalQuery = (query: string): Option.Option<string> =>
  Option.map(queryParameters(query), (parameters) =>
    parameters
      .map(([name, value]) => [encoded(name), encoded(value)] as const)
      .sort((a, b) => ordered(a[0], b[0]) || ordered(a[1], b[1]))
      .map(([name, value]) => `${name}=${value}`)
      .join("&")
  )

const ordered = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** `encodeURIComponent` leaves these five unescaped, which RFC 3986 reserves. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

/** The three parts of `X-Gateway-Key`. */
interface KeyHeader {
  readonly appId: string
  readonly keyId: string
  readonly apiKey: string
}

const KEY_HEADER = /^([a-z0-9_-]{1,40})\.([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{1,256})$/

export const parseKeyHeader = (text: string): Option.Option<KeyHeader> => {
  const [, appId, keyId, apiKey] = KEY_HEADER.exec(text) ?? []
  return appId === undefined || keyId === undefined || apiKey === undefined
    ? Option.none()
    : Option.some({ appId, keyId, apiKey })
}

const SIGNATURE = /^v1=([0-9a-f]{64})$/

/** The hex part of `X-Gateway-Signature`. */
export const parseSignature = (text: string): Option.Option<string> => Option.fromNullishOr(SIGNATURE.exec(text)?.[1])

export const isNonce = (text: string): boolean => /^[A-Za-z0-9_-]{16,64}$/.test(text)

/** How far a timestamp may be in the past and in the future, in seconds. */
interface SignatureWindow {
  readonly maxAgeSeconds: number
  readonly maxAheadSeconds: number
}

/** How far a timestamp in Unix seconds is ahead of `now` (milliseconds), negative where it is behind; none for any other text. */
export const clockSkewSeconds = (timestamp: string, now: number): Option.Option<number> =>
  /^[0-9]{1,12}$/.test(timestamp) ? Option.some(Number(timestamp) - Math.floor(now / 1000)) : Option.none()

/** Whether the timestamp is Unix seconds within the window around `now` (milliseconds). */
export const isInSignatureWindow = (timestamp: string, now: number, window: SignatureWindow): boolean =>
  Option.exists(clockSkewSeconds(timestamp, now), (skew) => -skew <= window.maxAgeSeconds && skew <= window.maxAheadSeconds)
