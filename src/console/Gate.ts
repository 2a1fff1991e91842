import { timingSafeEqual } from "node:crypto"
import { Effect, Option, Redacted, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { clientAddress, clientOf } from "../http/edge/ClientAddress.ts"
import { withRoom } from "../http/edge/RequestBody.ts"
import type { Visitor } from "../services/SignIn.ts"

// The checks of a request before anything is done for it. Each check returns a status and a sentence, or nothing.

/** Why a request is refused before it is processed. */
export interface Refused {
  readonly status: number
  readonly message: string
}

export interface GateSettings {
  /** The host that the listener is bound to. */
  readonly host: string
  /** The console's URL as the browser shows it; null: the listener's own. */
  readonly url: string | null
  readonly trustedProxies: ReadonlyArray<string>
}

type Request = HttpServerRequest.HttpServerRequest

const FORM_BYTES = 64 * 1024
/** An evidence file has at most a thousand lines. For its approval it is sent again as base64, which is a third longer. */
const FILE_FORM_BYTES = 512 * 1024
const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"]

export const makeGate = ({ host, trustedProxies, url }: GateSettings) => {
  const isSecure = url?.startsWith("https:") === true
  const cookie = isSecure ? "__Host-console_session" : "console_session"
  const addressOf = clientAddress(trustedProxies)
  const names = new Set([...LOOPBACK, host.includes(":") ? `[${host}]` : host, ...(url === null ? [] : [new URL(url).hostname])])

  /** A host name that leads here through someone else's DNS is not ours. */
  const foreignHost = ({ headers }: Request): Refused | undefined =>
    names.has((headers["host"] ?? "").toLowerCase().replace(/:\d+$/, ""))
      ? undefined
      : { status: 421, message: "This is not the address of the console." }

  /** A change must come from a page of the console itself. */
  const foreignOrigin = ({ headers }: Request): Refused | undefined => {
    const [site, origin] = [headers["sec-fetch-site"], headers["origin"]]
    // Without a referrer, a browser's own forms have the origin "null". Their source is in Sec-Fetch-Site, which no page can set.
    const isOwnForm =
      site === undefined
        ? origin !== undefined && isOwn(origin, headers["host"] ?? "")
        : site === "same-origin" && (origin === undefined || origin === "null" || isOwn(origin, headers["host"] ?? ""))
    return isOwnForm ? undefined : { status: 403, message: "This form was sent from another site." }
  }

  const isOwn = (origin: string, hostHeader: string): boolean =>
    url === null ? origin === `http://${hostHeader}` : origin === new URL(url).origin

  return {
    foreignHost,
    foreignOrigin,

    session: ({ cookies }: Request): Redacted.Redacted | null => {
      const held = cookies[cookie]
      return held !== undefined && SESSION.test(held) ? Redacted.make(held) : null
    },

    /** Null ends the session. */
    cookieFor: (session: Redacted.Redacted | null): string =>
      `${cookie}=${session === null ? "; Max-Age=0" : Redacted.value(session)}; Path=/; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`,

    /** The client's address, and the client that it counts as for limits. */
    sender: (request: Request): { readonly address: string; readonly client: string } => {
      const forwarded = request.headers["x-forwarded-for"]
      const peer = Option.getOrElse(request.remoteAddress, () => "unknown")
      const address = addressOf(peer, forwarded === undefined ? [] : [forwarded])
      return { address, client: clientOf(address) }
    }
  }
}

export type Gate = ReturnType<typeof makeGate>

/** The operator's name, the account's creation time, and 256 random bits in hex. */
const SESSION = /^[a-z][a-z0-9._-]{0,39}:\d{1,16}:[0-9a-f]{64}$/

/** Whether a form was made for this very session. */
export const isOwnForm = ({ formToken }: Visitor, form: URLSearchParams): boolean => {
  const given = Buffer.from(form.get("form_token") ?? "")
  const expected = Buffer.from(formToken)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

const FILE_FORM_TYPE = /^multipart\/form-data;/i
const FORM_TYPE = /^application\/x-www-form-urlencoded(?:[ \t]*;.*)?$/i

export const readForm = (request: Request): Effect.Effect<URLSearchParams, Refused> => {
  if (FILE_FORM_TYPE.test(request.headers["content-type"] ?? "")) return readFileForm(request)
  if (!FORM_TYPE.test(request.headers["content-type"] ?? "")) return Effect.fail({ status: 415, message: "This is not a form." })
  return bytesOf(request, FORM_BYTES).pipe(
    Effect.map((bytes) => new URLSearchParams(Buffer.from(bytes).toString("utf8"))),
    Effect.filterOrFail(
      (form) => unstorable(form) === undefined,
      () => zeroByte
    )
  )
}

/** A body in one buffer, in however many pieces it is sent. The listener closes a connection that takes too long for it. */
const bytesOf = Effect.fnUntraced(function* (request: Request, limit: number): Effect.fn.Return<Uint8Array, Refused> {
  if (Number(request.headers["content-length"] ?? 0) > limit) return yield* Effect.fail(tooLarge)
  let bytes: Buffer = Buffer.alloc(0)
  let size = 0
  yield* Stream.runForEach(
    Stream.mapError(request.stream, () => notWhole),
    (piece) => {
      if (size + piece.length > limit) return Effect.fail(tooLarge)
      bytes = withRoom(bytes, size + piece.length, limit)
      bytes.set(piece, size)
      size += piece.length
      return Effect.void
    }
  )
  return bytes.subarray(0, size)
})

/** A form with a file: the text of the file is the value of its field. */
const readFileForm = (request: Request): Effect.Effect<URLSearchParams, Refused> => {
  const type = request.headers["content-type"] ?? ""
  return bytesOf(request, FILE_FORM_BYTES).pipe(
    Effect.flatMap((bytes) =>
      Effect.tryPromise({
        try: () => new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData(),
        catch: () => notWhole
      })
    ),
    Effect.flatMap((sent) => Effect.forEach([...sent], ([name, value]) => Effect.map(textOf(value), (text) => [name, text]))),
    Effect.map((fields) => new URLSearchParams(fields)),
    Effect.filterOrFail(
      (form) => unstorable(form) === undefined,
      () => zeroByte
    )
  )
}

const textOf = (value: string | File): Effect.Effect<string, Refused> =>
  typeof value === "string"
    ? Effect.succeed(value)
    : Effect.flatMap(
        Effect.promise(() => value.arrayBuffer()),
        (bytes) => Effect.try({ try: () => wholeText.decode(bytes), catch: () => notText })
      )

/** The text is the file, byte for byte: its digest is that of the file. */
const wholeText = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const tooLarge: Refused = { status: 413, message: "That is too much for a form." }
const notWhole: Refused = { status: 400, message: "The form did not arrive whole." }
const notText: Refused = { status: 422, message: "The file is no text in UTF-8." }

const zeroByte: Refused = {
  status: 400,
  message: "What was sent holds a character that cannot be stored (U+0000). Go back, type the text again, and repeat it."
}

/** The one character that PostgreSQL cannot store in a text. Every other one is an ordinary character. */
export const unstorable = (fields: URLSearchParams): Refused | undefined =>
  [...fields].flat().some((text) => text.includes("\u0000")) ? zeroByte : undefined

/** The headers of every response: it is never cached or framed, and it loads from and sends to the console only. */
export const strictHeaders = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin"
} as const
