import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { randomSource } from "../App.ts"
import { json } from "../domain/Json.ts"
import { Profiles, profileFlag } from "./client/Profile.ts"
import { callGateway } from "./client/TenantClient.ts"
import {
  bodyOf,
  create,
  finish,
  getCommand,
  given,
  listCommand,
  referenceArgument,
  requestFlags,
  sharedMembers
} from "./client/TransactionCommands.ts"

const createCommand = Command.make(
  "create",
  {
    ...requestFlags,
    method: Flag.Literals("method", ["momo", "bank", "card"]).pipe(
      Flag.withDescription("how it is paid; momo if left out"),
      Flag.optional
    ),
    redirectUrl: Flag.String("redirect-url").pipe(
      Flag.withDescription("where the payer goes on afterwards, for the corridors that need it"),
      Flag.optional
    )
  },
  Effect.fn(function* (flags) {
    const profile = yield* Profiles.load(flags.profile)
    const method = Option.getOrElse(flags.method, () => "momo")
    const payer = given({ msisdn: flags.msisdn, network: flags.network })
    const members = {
      ...(yield* sharedMembers(flags)),
      ...given({ method: flags.method, redirect_url: flags.redirectUrl }),
      ...(Object.keys(payer).length === 0
        ? {}
        : { method, source: { type: method, ...given({ country: flags.country }), ...payer } })
    }
    const body = yield* bodyOf(flags.body, members, ["amount_minor", "currency", "country"])
    const view = yield* create(profile, "collection", { body, idempotencyKey: flags.idempotencyKey })
    yield* finish(profile, view, flags.wait)
  }, Effect.provide(randomSource))
).pipe(
  Command.withDescription("Charge a payer, once however often it is run with the same idempotency key"),
  Command.withExamples([
    {
      command:
        "gateway collection create --amount-minor 10000 --currency UGX --country UG --msisdn 256772123456 --network MTN --wait",
      description: "Charge UGX 10,000 to a mobile-money number and wait for the outcome"
    }
  ])
)

const authorize = Command.make(
  "authorize",
  {
    reference: referenceArgument,
    pinId: Flag.String("pin-id").pipe(Flag.withDescription("which code: `next_action.pin_id` of the collection")),
    pin: Flag.String("pin").pipe(Flag.withDescription("the code that the payer got; 123456 at the simulator")),
    msisdn: Flag.String("msisdn").pipe(Flag.withDescription("the payer's number, as in the collection")),
    network: Flag.String("network").pipe(Flag.withDescription("the payer's mobile network")),
    wait: requestFlags.wait,
    profile: profileFlag
  },
  Effect.fn(function* ({ msisdn, network, pin, pinId, profile, reference, wait }) {
    const login = yield* Profiles.load(profile)
    const otp = { pin_id: pinId, pin }
    const view = yield* callGateway(login, {
      method: "POST",
      target: `/v1/collections/${encodeURIComponent(reference)}/authorize`,
      body: json({ authorization: { type: "otp", otp }, source: { type: "momo", msisdn, network } })
    })
    yield* finish(login, view, wait)
  }, Effect.provide(randomSource))
).pipe(
  Command.withDescription("Give the one-time code that a collection waits for"),
  Command.withExamples([
    {
      command:
        "gateway collection authorize AAA688MG9KT6BQ76F4NM4BJRH5 --pin-id PIN_ID --pin 123456 --msisdn 254712345678 --network MPESA",
      description: "Give the code that the payer typed"
    }
  ])
)

export const collection = Command.make("collection").pipe(
  Command.withDescription("Your collections, by the public API with the login of `gateway login`"),
  Command.withSubcommands([createCommand, getCommand("collection"), listCommand("collection"), authorize])
)
