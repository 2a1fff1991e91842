import { readFile } from "node:fs/promises"
import { Clock, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { randomSource } from "../App.ts"
import { help, isGiven } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { printResult } from "./Output.ts"
import { readHeaders } from "./signing/RefusedRequest.ts"
import { type Diagnosis, diagnose } from "./signing/SignatureDiagnosis.ts"
import { addressOf, decodeKeyFile, headerLines, type KeyFile, type Signed, sign, type Unsigned } from "./signing/SignedHeaders.ts"

export const signCommand = Command.make(
  "sign",
  {
    method: Flag.String("method").pipe(Flag.withDescription("as the request will have it, such as POST")),
    url: Flag.String("url").pipe(Flag.withDescription("exactly the address that will be called")),
    body: Flag.String("body").pipe(Flag.withDescription("a file with the exact bytes of the body"), Flag.optional),
    key: Flag.String("key").pipe(Flag.withDescription("a file with what `key issue --json` printed")),
    explain: isGiven("explain", "print the string to sign and the body's hash as well"),
    headers: Flag.String("headers").pipe(
      Flag.withDescription(
        "a file with the headers of a refused request, as `Name: value` lines or as curl -v prints them: say which part differs"
      ),
      Flag.optional
    )
  },
  Effect.fn(function* ({ body, explain, headers, key, method, url }) {
    const bytes = Option.isSome(body) ? yield* read(body.value) : new Uint8Array()
    const keyFile = yield* readKeyFile(key)
    const request = { method, url, body: bytes }
    if (Option.isSome(headers)) return yield* explainRefusal(keyFile, request, (yield* read(headers.value)).toString("utf8"))
    const signed = yield* sign(keyFile, request)
    if (!explain) return yield* printResult(signed.headers, headerLines(signed.headers))
    yield* printResult(explainedView(signed), explainedLines(signed))
  }, Effect.provide(randomSource))
).pipe(
  help(
    "The four signing headers of one request, as `curl -H @-` takes them; good for two minutes. `--explain` shows what they sign; with `--headers`, why a request was refused",
    [
      "gateway sign --method GET --url http://127.0.0.1:8080/v1/float --key tenant.json | curl -H @- http://127.0.0.1:8080/v1/float",
      "Sign a read and send it"
    ],
    [
      "gateway sign --explain --method POST --url https://pay.example/v1/payouts --body body.json --key key.json --headers sent.txt",
      "Find out why a signature was refused"
    ]
  )
)

const readKeyFile = (file: string): Effect.Effect<KeyFile, CommandRefusal> =>
  read(file).pipe(
    Effect.flatMap((text) => decodeKeyFile(text.toString("utf8"))),
    Effect.catchTag("SchemaError", () => new CommandRefusal(`${file} is no key file: make one with gateway key issue --json`))
  )

const fieldNames = ["version", "app_id", "key_id", "host", "method", "path", "query", "timestamp", "nonce", "body_sha256"]

const explainedView = ({ fields, headers, text }: Signed) => ({
  headers,
  string_to_sign: text,
  fields: text.split("\n").map((value, at) => ({ name: fieldNames[at] ?? "", value })),
  body_sha256: fields.bodyHash
})

const explainedLines = ({ headers, text }: Signed): ReadonlyArray<string> => [...headerLines(headers), "", ...stringLines(text)]

const stringLines = (text: string): ReadonlyArray<string> => [
  `The string to sign: ${Buffer.byteLength(text)} bytes, ten fields with a newline between them and none at the end`,
  ...text.split("\n").map((value, at) => `  ${(fieldNames[at] ?? "").padEnd(11)}  ${value}`)
]

const explainRefusal = Effect.fnUntraced(function* (key: KeyFile, { body, method, url }: Unsigned, headers: string) {
  const { host, target } = yield* addressOf(url)
  const now = yield* Clock.currentTimeMillis
  const diagnosis = diagnose({ method, url, urlHost: host, target, body }, readHeaders(headers), key, now)
  yield* printResult(
    {
      string_to_sign: diagnosis.stringToSign,
      body_sha256: diagnosis.bodyHash,
      signature_right: diagnosis.isSignatureRight,
      differences: diagnosis.differences,
      advice: adviceFor(diagnosis)
    },
    [
      ...diagnosis.differences.map(({ detail, part }) => `${part}: ${detail}`),
      adviceFor(diagnosis),
      "",
      ...stringLines(diagnosis.stringToSign)
    ]
  )
})

const adviceFor = ({ differences, isExplained, isSignatureRight }: Diagnosis): string => {
  if (isExplained) return "Mend this, and sign again with a new nonce and timestamp."
  if (!isSignatureRight)
    return "No known mistake explains the signature: compare the string below with yours, and the signing_secret with the key's."
  return differences.length > 0
    ? "The signature itself is right."
    : "All of it is right: the request was sent twice with one nonce, its key was revoked, or something on the way changed it."
}

const read = (file: string) =>
  Effect.tryPromise({
    try: () => readFile(file),
    catch: () => new CommandRefusal(`cannot read ${file}`)
  })
