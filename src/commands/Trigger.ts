import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { randomSource } from "../App.ts"
import { json } from "../domain/Json.ts"
import { RandomSource } from "../services/ports/RandomSource.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { type Profile, Profiles, profileFlag } from "./client/Profile.ts"
import { type ApiRefusal, callGateway } from "./client/TenantClient.ts"
import { create, finish, requestFlags } from "./client/TransactionCommands.ts"

/** Enough for every corridor's minimum, and below what test mode may move. */
const AMOUNT = 10_000n
const REDIRECT_URL = "https://example.com/done"

/** How a mobile number goes on after the country's prefix; the random digits and the ending fill it up. */
const numbers: Readonly<Record<string, string>> = {
  UG: "25677",
  KE: "25471",
  RW: "25078",
  GH: "23324",
  TZ: "25575",
  ZM: "26097",
  NG: "234803"
}

export const trigger = Command.make(
  "trigger",
  {
    ending: Argument.String("ENDING").pipe(
      Argument.withSchema(Schema.String.check(Schema.isPattern(/^\d{4}$/))),
      Argument.withDescription("the number's last four digits, which choose how it ends, such as 0002; 1234 succeeds")
    ),
    kind: Flag.Literals("kind", ["payout", "collection"]).pipe(
      Flag.withDefault("payout"),
      Flag.withDescription("what is made; a payout if left out")
    ),
    country: Flag.String("country").pipe(
      Flag.withDefault("UG"),
      Flag.withDescription(`where, by mobile money: ${Object.keys(numbers).join(", ")}; UG if left out`)
    ),
    amount: requestFlags.amount,
    profile: profileFlag
  },
  Effect.fn(function* ({ amount, country, ending, kind, profile }) {
    const login = yield* Profiles.load(profile)
    if (login.mode === "live") return yield* liveKey(login)
    const number = yield* numberIn(country, ending)
    const corridor = yield* corridorOf(login, kind, country)
    const party = { type: "momo", msisdn: number, network: corridor.networks[0] ?? "", country }
    const minimum = corridor.minimum_minor ?? 0n
    const body = json({
      // Refused with mode_mismatch where the key is live: no ending of a real number is worth a try.
      mode: "test",
      amount_minor: Option.getOrElse(amount, () => (minimum > AMOUNT ? minimum : AMOUNT)),
      currency: corridor.currency,
      country,
      method: "momo",
      ...(kind === "payout" ? { destination: party } : { source: party }),
      ...(corridor.requires_redirect_url ? { redirect_url: REDIRECT_URL } : {})
    })
    const view = yield* create(login, kind, { body, idempotencyKey: Option.none() }).pipe(
      Effect.catchTag("ApiRefusal", (refusal) => explained(login, refusal, corridor.currency))
    )
    yield* finish(login, view, true)
  }, Effect.provide(randomSource))
).pipe(
  Command.withDescription(
    "Make a payout or a collection in test mode whose number ends in ENDING, and follow it until it is settled. It takes a test key: with a live one the gateway refuses it"
  ),
  Command.withExamples([
    { command: "gateway trigger 0002", description: "A payout that is accepted and then fails" },
    { command: "gateway trigger 0014 --kind collection", description: "A collection that brings less than was asked for" }
  ])
)

const numberIn = Effect.fnUntraced(function* (country: string, ending: string) {
  const beginning = numbers[country]
  if (beginning === undefined)
    return yield* new CommandRefusal({
      message: `no test number of ${country} is known: use one of ${Object.keys(numbers).join(", ")}`
    })
  // A number of its own each time: the guard against double charges, and limits for one number, have nothing to do with an ending.
  const [high = 0, low = 0] = yield* (yield* RandomSource).secret(2)
  return `${beginning}${String((high * 256 + low) % 1000).padStart(3, "0")}${ending}`
})

const Corridors = Schema.Array(
  Schema.Struct({
    currency: Schema.String,
    networks: Schema.Array(Schema.String),
    minimum_minor: Schema.NullOr(Schema.BigInt),
    requires_redirect_url: Schema.Boolean
  })
)
const decodeCorridors = Schema.decodeUnknownEffect(Corridors)

const corridorOf = Effect.fnUntraced(function* (login: Profile, direction: string, country: string) {
  const target = `/v1/reference/corridors?active=true&country=${country}&direction=${direction}&method=momo`
  const rows = yield* callGateway(login, { method: "GET", target }).pipe(
    Effect.flatMap(decodeCorridors),
    Effect.catchTag(
      "SchemaError",
      () => new CommandRefusal({ message: "the gateway's corridors cannot be read: is it an older gateway?" })
    )
  )
  const [row] = rows
  if (row === undefined)
    return yield* new CommandRefusal({
      message: `${country} has no active corridor for a ${direction} by mobile money: try another --country`
    })
  return row
})

const liveKey = ({ app_id }: Profile) =>
  Effect.fail(
    new CommandRefusal({
      message: `trigger moves test money only, and this login's key is live: log in with one of gateway key issue ${app_id} --mode test --json`
    })
  )

const explained = (login: Profile, refusal: ApiRefusal, currency: string): Effect.Effect<never, ApiRefusal | CommandRefusal> => {
  if (refusal.code === "mode_mismatch") return liveKey(login)
  if (refusal.code !== "insufficient_tenant_float") return Effect.fail(refusal)
  return Effect.fail(
    new CommandRefusal({
      message: `there is no test float in ${currency}: an operator adds some with gateway float credit ${login.app_id} --mode test --currency ${currency} --amount-minor 1000000 --external-id test-1 --note test`
    })
  )
}
