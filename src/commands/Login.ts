import { Effect, Option, Redacted, Schema } from "effect"
import { Command, Flag, Prompt } from "effect/cli"
import { randomSource } from "../App.ts"
import { Mode } from "../domain/Ids.ts"
import { CommandRefusal, WrongUsage } from "./CommandRefusal.ts"
import { isLoopback, type Profile, Profiles, profileFlag } from "./client/Profile.ts"
import { callGateway } from "./client/TenantClient.ts"
import { DataFolder } from "./DataFolder.ts"
import { OnTerminal, printResult } from "./Output.ts"
import { KeyFile } from "./signing/SignedHeaders.ts"

const IssuedKey = Schema.Struct({ ...KeyFile.fields, mode: Schema.optionalKey(Mode) })
const decodeKey = Schema.decodeUnknownOption(Schema.fromJsonString(IssuedKey))

export const login = Command.make(
  "login",
  {
    url: Flag.String("url").pipe(
      Flag.withDescription("the gateway's address, such as https://api.gateway.example; asked for on a terminal"),
      Flag.optional
    ),
    key: Flag.String("key").pipe(
      Flag.withDescription("a file with what `key issue --json` printed; asked for on a terminal"),
      Flag.optional
    ),
    profile: profileFlag
  },
  Effect.fn(function* ({ key, profile: name, url }) {
    const isAsked = process.stdin.isTTY === true && (yield* OnTerminal)
    if (!isAsked && (Option.isNone(url) || Option.isNone(key)))
      return yield* new WrongUsage({ message: "give --url and --key: there is no terminal to ask at" })
    const address = yield* addressOf(Option.isSome(url) ? url.value : yield* ask("The gateway's address"))
    const issued = Option.isSome(key) ? yield* readKey(key.value) : yield* askForKey
    const profile: Profile = { ...issued, url: address, mode: issued.mode ?? null }
    yield* callGateway(profile, { method: "GET", target: "/v1/capabilities" })
    const file = yield* Profiles.save(name, profile)
    const { app_id, key_id, mode } = profile
    yield* printResult({ profile: name, url: address, app_id, key_id, mode, file }, [
      `Logged in to ${address} as ${app_id} with the ${mode === null ? "" : `${mode} `}key ${key_id}.`,
      `It is kept in ${file}, readable by you only.`
    ])
  }, Effect.provide(randomSource))
).pipe(
  Command.withDescription(
    "Keep a gateway's address and a key of a tenant for the commands payout, collection, listen and trigger, once a signed request has shown that they work"
  ),
  Command.withExamples([
    {
      command: "gateway login --url http://127.0.0.1:8080 --key .data/tenant-test.json",
      description: "Log in to a gateway of `npm start`"
    },
    {
      command: "gateway login --url https://api.gateway.example --key key.json --profile shop",
      description: "Keep another login beside it"
    }
  ])
)

/** The key is sent with each request: only a loopback address may do without TLS. */
const addressOf = Effect.fnUntraced(function* (text: string) {
  const wrong = new CommandRefusal({ message: `${text} is no gateway's address: give one such as https://api.gateway.example` })
  if (!URL.canParse(text)) return yield* wrong
  const { hostname, origin, pathname, protocol, search } = new URL(text)
  if (!/^https?:$/.test(protocol) || pathname !== "/" || search !== "") return yield* wrong
  if (protocol === "http:" && !isLoopback(hostname))
    return yield* new CommandRefusal({ message: `${origin} would send the key unencrypted: use https` })
  return origin
})

const readKey = Effect.fnUntraced(function* (file: string) {
  const text = yield* DataFolder.read(file)
  if (Option.isNone(text)) return yield* new CommandRefusal({ message: `cannot read ${file}` })
  const key = decodeKey(text.value)
  if (Option.isNone(key))
    return yield* new CommandRefusal({ message: `${file} is no key file: make one with gateway key issue --json` })
  return key.value
})

const ask = (message: string) =>
  Effect.mapError(
    Prompt.run(Prompt.String({ message })),
    () => new CommandRefusal({ message: "not logged in: nothing was kept" })
  )

const askForKey = Effect.gen(function* () {
  const secret = (message: string) =>
    Prompt.run(Prompt.Password({ message })).pipe(
      Effect.map(Redacted.value),
      Effect.mapError(() => new CommandRefusal({ message: "not logged in: nothing was kept" }))
    )
  const issued: typeof IssuedKey.Type = {
    app_id: yield* ask("app_id"),
    key_id: yield* ask("key_id"),
    api_key: yield* secret("api_key"),
    signing_secret: yield* secret("signing_secret")
  }
  return issued
})
