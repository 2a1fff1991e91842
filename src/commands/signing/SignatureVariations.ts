import { Option } from "effect"
import { canonicalQuery, pathOf } from "../../domain/StringToSign.ts"
import { bodyHash } from "../../services/admission/Signature.ts"
import type { Recipe, SentRequest, Variation } from "./SignatureRecipe.ts"
import { hasSignedBody, type KeyFile } from "./SignedHeaders.ts"

/** Every mistake that is tried, by the part of the request that it is in. None of them is the right recipe. */
export const variations = (right: Recipe, sent: SentRequest, key: KeyFile): ReadonlyArray<Variation> =>
  [
    ...hostVariations(right, sent),
    ...methodVariations(right),
    ...pathVariations(right, sent),
    ...queryVariations(right, sent),
    ...bodyVariations(sent.body, hasSignedBody(sent.method)),
    ...keyVariations(right, key),
    ...stringVariations
  ].filter(({ change }) => Object.entries(change).some(([name, value]) => Reflect.get(right, name) !== value))

const hostVariations = ({ host }: Recipe, sent: SentRequest): ReadonlyArray<Variation> => {
  const bare = host.replace(/:\d+$/, "")
  const signed = (change: string, what: string): Variation => ({
    part: "host",
    detail: `${what} was signed; sign the Host header as it is sent: ${host}`,
    change: { host: change }
  })
  return [
    signed(bare, "the host without its port"),
    ...["80", "443", "8080"].map((port) => signed(`${bare}:${port}`, `the host with the port ${port}`)),
    ...[sent.host, typedHost(sent.url)].map((typed) => ({
      part: "host" as const,
      detail: `the host was signed in the letter case in which it was typed, ${typed}; sign it in lower case: ${host}`,
      change: { host: typed.toLowerCase() === host ? typed : host }
    })),
    signed(typedHost(sent.url), "the host as it was typed"),
    signed(sent.urlHost, "the address that was called"),
    signed(sent.url.replace(/^(https?:\/\/[^/]*).*$/i, "$1"), "the host with its scheme"),
    signed("", "no host")
  ]
}

/** The host of an address as it was typed: `URL` would write it in lower case and omit a default port. */
const typedHost = (url: string): string => /^https?:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(url)?.[1] ?? ""

const methodVariations = ({ method }: Recipe): ReadonlyArray<Variation> =>
  [method.toLowerCase(), "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", ""].map((other) => ({
    part: "method",
    detail: `the method was signed as "${other}"; sign ${method}`,
    change: { method: other }
  }))

const pathVariations = ({ path, query }: Recipe, sent: SentRequest): ReadonlyArray<Variation> => {
  const signed = (what: string, change: Partial<Recipe>): Variation => ({
    part: "path",
    detail: `${what} was signed; sign the path exactly as it is sent, up to the first ?: ${path}`,
    change
  })
  return [
    signed("the path with a slash at its end", { path: `${path}/` }),
    signed("the path without the slash at its end", { path: path.replace(/\/$/, "") }),
    signed("the path without /v1", { path: path.replace(/^\/v1/, "") }),
    signed("the path without its first slash", { path: path.slice(1) }),
    signed("the path in lower case", { path: path.toLowerCase() }),
    signed("the decoded path", { path: decoded(path) }),
    signed("the path together with the query", { path: sent.target, query: "" }),
    signed("the path together with the query, and the query once more,", { path: sent.target, query }),
    signed("the whole address", { path: sent.url, query: "" })
  ]
}

const queryVariations = ({ query }: Recipe, { target }: SentRequest): ReadonlyArray<Variation> => {
  const raw = target.slice(pathOf(target).length + 1)
  const pairs = raw.split("&").filter((pair) => pair !== "")
  const canonical = (text: string): string => Option.getOrElse(canonicalQuery(text), () => text)
  const signed = (what: string, change: string): Variation => ({
    part: "query",
    detail: `the query was signed ${what}; sign ${query === "" ? "an empty field" : query}`,
    change: { query: change }
  })
  return [
    signed("as it was sent, not sorted and not encoded again", raw),
    signed("sorted, but not encoded again", [...pairs].sort().join("&")),
    signed("encoded again, but not sorted", pairs.map(canonical).join("&")),
    signed("with + read as a space, which stays a plus sign (%2B)", canonical(raw.replaceAll("+", "%20"))),
    signed("with + for a space, which is %20", query.replaceAll("%20", "+")),
    signed("as a form is encoded", new URLSearchParams(raw).toString()),
    signed("as a sorted form is encoded", sortedForm(raw)),
    signed("decoded", decoded(query)),
    signed(
      "with lower-case hexadecimal digits",
      query.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())
    ),
    signed("without = after a name that has no value", query.replace(/=(?=&|$)/g, "")),
    signed("with its question mark", `?${query}`),
    signed("with its question mark, as it was sent", `?${raw}`),
    signed("as an empty field", "")
  ]
}

const keyVariations = (right: Recipe, key: KeyFile): ReadonlyArray<Variation> => {
  const secret = key.signing_secret
  const made = (what: string, change: string | Uint8Array): Variation => ({
    part: "secret",
    detail: `the HMAC's key was ${what}; it is the signing_secret exactly as it was printed, as text`,
    change: { secret: change }
  })
  return [
    {
      part: "key",
      detail: `the key file's app_id and key_id were signed, and X-Gateway-Key names ${right.appId}.${right.keyId}`,
      change: { appId: key.app_id, keyId: key.key_id }
    },
    { part: "key", detail: "the app_id and the key_id were exchanged", change: { appId: right.keyId, keyId: right.appId } },
    { part: "key", detail: "the api_key was signed in place of the key_id", change: { keyId: key.api_key } },
    made("the api_key", key.api_key),
    made("the signing_secret without ss_", secret.replace(/^ss_/, "")),
    made("the signing_secret read as hexadecimal", Buffer.from(secret.replace(/^ss_/, ""), "hex")),
    made("the signing_secret read as base64", Buffer.from(secret.replace(/^ss_/, ""), "base64")),
    made("the signing_secret with a newline at its end", `${secret}\n`),
    ...(/^\d+$/.test(right.timestamp)
      ? [
          {
            part: "timestamp" as const,
            detail: "milliseconds were signed, and seconds were sent",
            change: { timestamp: `${right.timestamp}000` }
          }
        ]
      : []),
    { part: "timestamp", detail: "no timestamp was signed", change: { timestamp: "" } },
    { part: "nonce", detail: "no nonce was signed", change: { nonce: "" } },
    { part: "nonce", detail: "the nonce was signed in lower case", change: { nonce: right.nonce.toLowerCase() } }
  ]
}

const stringVariations: ReadonlyArray<Variation> = [
  {
    part: "string",
    detail: "the string to sign ends with a newline; it has none at its end",
    change: { join: (fields) => `${fields.join("\n")}\n` }
  },
  {
    part: "string",
    detail: "the fields are joined by CR LF; join them by LF alone",
    change: { join: (fields) => fields.join("\r\n") }
  },
  {
    part: "string",
    detail: "the fields are joined by a backslash and an n; join them by a real newline",
    change: { join: (fields) => fields.join(String.raw`\n`) }
  },
  {
    part: "string",
    detail: "the fields are joined by nothing; join them by a newline",
    change: { join: (fields) => fields.join("") }
  },
  { part: "string", detail: "the first field, v1, was left out", change: { join: ([, ...fields]) => fields.join("\n") } },
  {
    part: "string",
    detail: "the empty query was left out; it is an empty line",
    change: { join: (fields) => fields.filter((field) => field !== "").join("\n") }
  }
]

const sortedForm = (query: string): string => {
  const form = new URLSearchParams(query)
  form.sort()
  return form.toString()
}

/** A text with a broken escape stays as it is. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Mistakes that clients make with a body: they signed another text of the same JSON, or something other than its hash. */
const bodyVariations = (body: Uint8Array, isSigned: boolean): ReadonlyArray<Variation> => {
  const text = Buffer.from(body).toString("utf8")
  const hash = bodyHash(body)
  if (!isSigned)
    return body.length === 0
      ? [signed("as an empty field; an empty body has a hash, too", "")]
      : [
          {
            part: "body",
            detail: "the body of a GET or DELETE was hashed; sign the hash of the empty string",
            change: { body: hash }
          }
        ]
  return [
    ...texts(text).map(([what, other]) => signed(`${what}; sign the very bytes that are sent`, bodyHash(Buffer.from(other)))),
    signed("as the hash of the empty string", bodyHash(new Uint8Array())),
    signed("as an empty field", ""),
    signed("itself; sign its SHA-256", text),
    signed("as a hash in upper case; use lower-case hexadecimal", hash.toUpperCase()),
    signed("as a hash in base64; use lower-case hexadecimal", Buffer.from(hash, "hex").toString("base64"))
  ]
}

const signed = (what: string, body: string): Variation => ({
  part: "body",
  detail: `the body was signed ${what}`,
  change: { body }
})

/** The same body as other programs would write it. */
const texts = (text: string): ReadonlyArray<readonly [what: string, text: string]> => [
  ["with a newline at its end", `${text}\n`],
  ["without the newline at its end", text.replace(/\r?\n$/, "")],
  ["with CR LF in place of LF", text.replace(/\r?\n/g, "\r\n")],
  ["with LF in place of CR LF", text.replaceAll("\r\n", "\n")],
  ["with a byte order mark", `\uFEFF${text}`],
  ...Option.match(parsed(text), { onNone: () => [], onSome: serialized })
]

const serialized = (tree: unknown): ReadonlyArray<readonly [what: string, text: string]> =>
  [
    ["serialized again without spaces", JSON.stringify(tree)] as const,
    ["serialized again with a space after : and ,", spaced(tree)] as const,
    ["serialized again with an indent of 2", JSON.stringify(tree, null, 2)] as const,
    ["serialized again with an indent of 4", JSON.stringify(tree, null, 4)] as const,
    ["serialized again with sorted names", JSON.stringify(sorted(tree))] as const,
    ["serialized again with sorted names and a space after : and ,", spaced(sorted(tree))] as const
  ].flatMap(([what, text]) => [
    [what, text],
    [`${what} and with \\u escapes`, ascii(text)],
    [`${what} and with escaped slashes`, ascii(text).replaceAll("/", String.raw`\/`)]
  ])

/** As Python's `json.dumps` writes it. Newlines occur only between members: in strings they are escaped. */
const spaced = (tree: unknown): string => JSON.stringify(tree, null, 1).replace(/,\n */g, ", ").replace(/\n */g, "")

const ascii = (text: string): string =>
  text.replace(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

const sorted = (tree: unknown): unknown => {
  if (Array.isArray(tree)) return tree.map(sorted)
  if (typeof tree !== "object" || tree === null || JSON.isRawJSON(tree)) return tree
  return Object.fromEntries(
    Object.entries(tree)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)])
  )
}

/** Numbers keep their text; none for a text that is not JSON. */
const parsed = (text: string): Option.Option<unknown> => {
  try {
    return Option.some(
      JSON.parse(text, (_name, value, { source }) =>
        typeof value === "number" && source !== undefined ? JSON.rawJSON(source) : value
      )
    )
  } catch {
    return Option.none()
  }
}
