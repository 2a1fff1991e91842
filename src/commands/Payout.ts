import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { randomSource } from "../App.ts"
import { Currency } from "../domain/Currency.ts"
import { AmountType } from "../domain/Payment.ts"
import { Profiles } from "./client/Profile.ts"
import {
  bodyOf,
  create,
  finish,
  getCommand,
  given,
  listCommand,
  requestFlags,
  sharedMembers
} from "./client/TransactionCommands.ts"

const createCommand = Command.make(
  "create",
  {
    ...requestFlags,
    method: Flag.Literals("method", ["momo", "bank", "wallet"]).pipe(
      Flag.withDescription("how it is paid; momo if left out"),
      Flag.optional
    ),
    bankCode: Flag.String("bank-code").pipe(Flag.withDescription("of the bank, for method bank"), Flag.optional),
    accountNumber: Flag.String("account-number").pipe(Flag.withDescription("for method bank"), Flag.optional),
    accountName: Flag.String("account-name").pipe(Flag.withDescription("the account's holder, for method bank"), Flag.optional),
    tag: Flag.String("tag").pipe(Flag.withDescription("the wallet, for method wallet"), Flag.optional),
    destinationCurrency: Flag.Literals("destination-currency", Currency.literals).pipe(
      Flag.withDescription("what is delivered, where that is another currency; then --amount-type as well"),
      Flag.optional
    ),
    amountType: Flag.Literals("amount-type", AmountType.literals).pipe(
      Flag.withDescription("which of the two the amount is"),
      Flag.optional
    )
  },
  Effect.fn(function* (flags) {
    const profile = yield* Profiles.load(flags.profile)
    const { accountName, accountNumber, amountType, bankCode, destinationCurrency, tag } = flags
    const method = Option.getOrElse(flags.method, () => "momo")
    const party = given({
      msisdn: flags.msisdn,
      network: flags.network,
      bank_code: bankCode,
      account_number: accountNumber,
      account_name: accountName,
      tag
    })
    const members = {
      ...(yield* sharedMembers(flags)),
      ...given({ method: flags.method, amount_type: amountType, destination_currency: destinationCurrency }),
      ...(Object.keys(party).length === 0
        ? {}
        : { method, destination: { type: method, country: Option.getOrUndefined(flags.country), ...party } })
    }
    const body = yield* bodyOf(flags.body, members, ["amount_minor", "currency", "country"])
    const view = yield* create(profile, "payout", { body, idempotencyKey: flags.idempotencyKey })
    yield* finish(profile, view, flags.wait)
  }, Effect.provide(randomSource))
).pipe(
  Command.withDescription("Pay somebody from your float, once however often it is run with the same idempotency key"),
  Command.withExamples([
    {
      command:
        "gateway payout create --amount-minor 10000 --currency UGX --country UG --msisdn 256772123456 --network MTN --wait",
      description: "Pay UGX 10,000 to a mobile-money number and wait for the outcome"
    },
    {
      command: "gateway payout create --body payout.json --idempotency-key order-7",
      description: "Send a request as it stands in a file"
    }
  ])
)

export const payout = Command.make("payout").pipe(
  Command.withDescription("Your payouts, by the public API with the login of `gateway login`"),
  Command.withSubcommands([createCommand, getCommand("payout"), listCommand("payout")])
)
