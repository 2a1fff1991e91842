import { Option } from "effect"
import { bodyHash } from "../../services/admission/Signature.ts"
import type { Variation } from "./SignatureRecipe.ts"

/** The mistakes that clients make with a body: another text of the same JSON was signed than was sent, or something else than its hash. */
export const bodyVariations = (body: Uint8Array, isSigned: boolean): ReadonlyArray<Variation> => {
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

/** What the same body looks like when other programs write it. */
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

/** As Python's `json.dumps` writes it. Only between members is there a newline: in strings it is escaped. */
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

/** Numbers keep their text; none for what is no JSON. */
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
