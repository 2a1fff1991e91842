import { readFile } from "node:fs/promises"
import { Clock, Effect, Option, Redacted, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { identifiers } from "../App.ts"
import { canonicalText } from "../domain/CanonicalText.ts"
import { bodyHash, signature } from "../services/admission/Signature.ts"
import { Identifiers } from "../services/ports/Identifiers.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { printResult } from "./Output.ts"

/** What `key issue --json` prints, as far as signing needs it. */
export const KeyFile = Schema.Struct({
  app_id: Schema.String,
  key_id: Schema.String,
  api_key: Schema.String,
  signing_secret: Schema.String
})
export type KeyFile = typeof KeyFile.Type

const decodeKeyFile = Schema.decodeUnknownEffect(Schema.fromJsonString(KeyFile))

export const sign = Command.make(
  "sign",
  {
    method: Flag.String("method").pipe(Flag.withDescription("as the request will have it, such as POST")),
    url: Flag.String("url").pipe(Flag.withDescription("exactly the address that will be called")),
    body: Flag.String("body").pipe(Flag.withDescription("a file with the exact bytes of the body"), Flag.optional),
    key: Flag.String("key").pipe(Flag.withDescription("a file with what `key issue --json` printed"))
  },
  Effect.fn(function* ({ body, key, method, url }) {
    const bytes = Option.isSome(body) ? yield* read(body.value) : new Uint8Array()
    const keyFile = yield* read(key).pipe(
      Effect.flatMap((text) => decodeKeyFile(text.toString("utf8"))),
      Effect.catchTag(
        "SchemaError",
        () => new CommandRefusal({ message: `${key} is no key file: make one with gateway key issue --json` })
      )
    )
    const headers = yield* signingHeaders(keyFile, { method, url, body: bytes })
    yield* printResult(headers, headerLines(headers))
  }, Effect.provide(identifiers))
).pipe(
  Command.withDescription("The four signing headers of one request, as `curl -H @-` takes them; good for two minutes"),
  Command.withExamples([
    {
      command:
        "gateway sign --method GET --url http://127.0.0.1:8080/v1/float --key tenant.json | curl -H @- http://127.0.0.1:8080/v1/float",
      description: "Sign a read and send it"
    }
  ])
)

interface Unsigned {
  readonly method: string
  readonly url: string
  readonly body: Uint8Array
}

/** Signs as a tenant's own client would (contract SIG-4 to SIG-8): the host and the target are taken as the URL writes them. */
export const signingHeaders = Effect.fn("signingHeaders")(function* (key: KeyFile, { body, method, url }: Unsigned) {
  const { reference } = yield* Identifiers
  const nonce = yield* reference
  const timestamp = String(Math.floor((yield* Clock.currentTimeMillis) / 1000))
  const { host, target } = yield* address(url)
  const hasBody = method.toUpperCase() !== "GET" && method.toUpperCase() !== "DELETE"
  const text = canonicalText({
    appId: key.app_id,
    keyId: key.key_id,
    host,
    method,
    target,
    timestamp,
    nonce,
    bodyHash: bodyHash(hasBody ? body : new Uint8Array())
  })
  if (Option.isNone(text))
    return yield* new CommandRefusal({
      message: `the query of ${url} cannot be signed: a % must be followed by two hexadecimal digits`
    })
  return {
    "X-Gateway-Key": `${key.app_id}.${key.key_id}.${key.api_key}`,
    "X-Gateway-Timestamp": timestamp,
    "X-Gateway-Nonce": nonce,
    "X-Gateway-Signature": `v1=${Buffer.from(signature(Redacted.make(key.signing_secret), text.value)).toString("hex")}`
  }
})

export const headerLines = (headers: Readonly<Record<string, string>>): ReadonlyArray<string> =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}`)

/** `URL` would rewrite the path; only its host is as clients send it. */
const address = (url: string) => {
  const [, target] = /^https?:\/\/[^/?#]+([^#]*)/i.exec(url) ?? []
  if (target === undefined || !URL.canParse(url))
    return Effect.fail(new CommandRefusal({ message: `${url} is not an http or https address` }))
  return Effect.succeed({ host: new URL(url).host, target: target.startsWith("/") ? target : `/${target}` })
}

const read = (file: string) =>
  Effect.tryPromise({
    try: () => readFile(file),
    catch: () => new CommandRefusal({ message: `cannot read ${file}` })
  })
