import { readFile } from "node:fs/promises"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { randomSource } from "../../App.ts"
import { Currency } from "../../domain/Currency.ts"
import { json } from "../../domain/Json.ts"
import { RandomSource } from "../../services/ports/RandomSource.ts"
import { Amount } from "../Arguments.ts"
import { CommandRefusal, WrongUsage } from "../CommandRefusal.ts"
import { printErrors, printResult } from "../Output.ts"
import { exactJson } from "./ExactJson.ts"
import { type Profile, Profiles, profileFlag } from "./Profile.ts"
import { callGateway } from "./TenantClient.ts"
import { follow, printTransaction } from "./TransactionOutput.ts"

// The common parts of `gateway payout` and `gateway collection`.

type Kind = "payout" | "collection"

/** The tenant's own transaction. */
export const referenceArgument = Argument.String("REFERENCE").pipe(
  Argument.withDescription("the reference that `create` answered, or `list` shows")
)

const optional = <A>(flag: Flag.Flag<A>, description: string) => flag.pipe(Flag.withDescription(description), Flag.optional)

/** The flags of every request to move money. `body` stands for all members of the request; the others are its members. */
export const requestFlags = {
  amount: optional(
    Flag.String("amount-minor").pipe(Flag.withSchema(Amount)),
    "a whole number of the currency's smallest unit, more than zero"
  ),
  currency: optional(Flag.Literals("currency", Currency.literals), "the currency"),
  country: optional(Flag.String("country"), "two capital letters, such as UG"),
  msisdn: optional(Flag.String("msisdn"), "the mobile-money number with its country's prefix, such as 256772123456"),
  network: optional(Flag.String("network"), "the mobile network, such as MTN"),
  narration: optional(Flag.String("narration"), "what the person is shown, at most 140 characters"),
  metadata: optional(Flag.String("metadata"), "a JSON object of your own, echoed digit by digit"),
  body: optional(Flag.String("body"), "a file with the whole JSON body; then no other member is given"),
  idempotencyKey: optional(
    Flag.String("idempotency-key"),
    "names this request: the same key again never moves money twice; a new one is made and shown if it is left out"
  ),
  wait: Flag.Boolean("wait").pipe(Flag.withDefault(false), Flag.withDescription("follow it until it is settled")),
  profile: profileFlag
}

type Members = Readonly<Record<string, unknown>>

/** The text of a request: the file's very bytes, or the members that were given. */
export const bodyOf = Effect.fnUntraced(function* (
  file: Option.Option<string>,
  members: Members,
  required: ReadonlyArray<string>
) {
  const names = Object.keys(members)
  if (Option.isSome(file)) {
    if (names.length > 0) return yield* new WrongUsage({ message: `--body has all members: leave out ${names.join(", ")}` })
    return yield* Effect.tryPromise({
      try: () => readFile(file.value, "utf8"),
      catch: () => new CommandRefusal({ message: `cannot read ${file.value}` })
    })
  }
  const missing = required.filter((name) => members[name] === undefined)
  if (missing.length > 0)
    return yield* new WrongUsage({
      message: `give ${missing.map((name) => `--${name.replaceAll("_", "-")}`).join(", ")}, or --body with a whole request`
    })
  return json(members)
})

/** The members whose flags were given. */
export const given = (flags: Readonly<Record<string, Option.Option<unknown>>>): Members =>
  Object.fromEntries(Object.entries(flags).flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value]] : [])))

interface SharedFlags {
  readonly amount: Option.Option<bigint>
  readonly currency: Option.Option<string>
  readonly country: Option.Option<string>
  readonly narration: Option.Option<string>
  readonly metadata: Option.Option<string>
}

/** The members that payouts and collections have alike; the metadata with its numbers as they were written. */
export const sharedMembers = Effect.fnUntraced(function* ({ amount, country, currency, metadata, narration }: SharedFlags) {
  const parsed = Option.map(metadata, exactJson)
  if (Option.isSome(parsed) && Option.isNone(parsed.value))
    return yield* new WrongUsage({ message: "--metadata is no JSON: give an object such as '{\"order\":7}'" })
  return given({ amount_minor: amount, currency, country, narration, metadata: Option.flatten(parsed) })
})

/** Asks for money to move, once: the key is shown before anything is sent, so that it can be asked again whatever happens. */
export const create = Effect.fnUntraced(function* (
  profile: Profile,
  kind: Kind,
  { body, idempotencyKey }: { readonly body: string; readonly idempotencyKey: Option.Option<string> }
) {
  const { reference } = yield* RandomSource
  const key = Option.isSome(idempotencyKey) ? idempotencyKey.value : yield* reference
  if (Option.isNone(idempotencyKey)) yield* printErrors(`idempotency key ${key}`)
  return yield* callGateway(profile, { method: "POST", target: `/v1/${kind}s`, body, idempotencyKey: key })
})

/** Prints what was created, now or when it is settled. */
export const finish = Effect.fnUntraced(function* (profile: Profile, view: unknown, wait: boolean) {
  yield* printTransaction(wait ? yield* follow(profile, view) : view)
})

export const getCommand = (kind: Kind) =>
  Command.make(
    "get",
    { reference: referenceArgument, profile: profileFlag },
    Effect.fn(function* ({ profile, reference }) {
      const login = yield* Profiles.load(profile)
      yield* printTransaction(
        yield* callGateway(login, { method: "GET", target: `/v1/${kind}s/${encodeURIComponent(reference)}` })
      )
    }, Effect.provide(randomSource))
  ).pipe(
    Command.withDescription(`Show one ${kind} of yours as it is now`),
    Command.withExamples([{ command: `gateway ${kind} get AAA688MG9KT6BQ76F4NM4BJRH5`, description: "Ask what became of it" }])
  )

const Page = Schema.Struct({
  items: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)),
  next_cursor: Schema.NullOr(Schema.String)
})
const decodePage = Schema.decodeUnknownEffect(Page)

const columns = ["reference", "status", "amount_minor", "amount_currency", "masked_destination", "created_at"]

export const listCommand = (kind: Kind) =>
  Command.make(
    "list",
    {
      status: optional(Flag.String("status"), "only this status"),
      currency: requestFlags.currency,
      from: optional(Flag.String("from"), "created at this moment or later, such as 2026-01-31T12:00:00.000Z"),
      to: optional(Flag.String("to"), "created before this moment"),
      metadata: optional(Flag.String("metadata"), "only with this member of metadata, as KEY=VALUE"),
      key: optional(Flag.String("idempotency-key"), "only what this key created"),
      limit: optional(Flag.Int("limit"), "how many, from 1 to 100; 20 if left out"),
      cursor: optional(Flag.String("cursor"), "the next page, as the last one named it"),
      profile: profileFlag
    },
    Effect.fn(function* ({ currency, cursor, from, key, limit, metadata, profile, status, to }) {
      const login = yield* Profiles.load(profile)
      const [member = "", value = ""] = Option.match(metadata, { onNone: () => [], onSome: (text) => splitOnce(text) })
      const query = [
        ["kind", kind],
        ...pair("status", status),
        ...pair("currency", currency),
        ...pair("created_from", from),
        ...pair("created_to", to),
        ...(member === "" ? [] : [[`metadata.${member}`, value]]),
        ...pair("idempotency_key", key),
        ...pair("limit", Option.map(limit, String)),
        ...pair("cursor", cursor)
      ].map(([name = "", text = ""]) => `${encodeURIComponent(name)}=${encodeURIComponent(text)}`)
      const answer = yield* callGateway(login, { method: "GET", target: `/v1/transactions?${query.join("&")}` })
      const page = yield* Effect.mapError(
        decodePage(answer),
        () => new CommandRefusal({ message: "the gateway's answer is no list: is it an older gateway?" })
      )
      const rows = page.items.map((item) => Object.fromEntries(columns.map((name) => [name, item[name]])))
      yield* printResult(answer, undefined, rows)
      if (page.next_cursor !== null) yield* printErrors(`there are more: --cursor ${page.next_cursor}`)
    }, Effect.provide(randomSource))
  ).pipe(
    Command.withDescription(`List your ${kind}s, newest first`),
    Command.withExamples([
      { command: `gateway ${kind} list --status failed --limit 5`, description: "The last five that failed" }
    ])
  )

const pair = (name: string, value: Option.Option<string>): ReadonlyArray<ReadonlyArray<string>> =>
  Option.match(value, { onNone: () => [], onSome: (text) => [[name, text]] })

const splitOnce = (text: string): ReadonlyArray<string> => {
  const at = text.indexOf("=")
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)]
}
