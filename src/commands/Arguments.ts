import { Effect, Option, Schema, SchemaGetter } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { providerNames } from "../App.ts"
import { Currency } from "../domain/Currency.ts"
import { AppId, Mode } from "../domain/Ids.ts"
import { type Instant, instantOf } from "../domain/Instant.ts"
import { LARGEST_AMOUNT, MinorUnits } from "../domain/Money.ts"
import { CommandRefusal } from "./CommandRefusal.ts"

/** The largest value of a bigint column. */
const LARGEST_REVISION = 2n ** 63n - 1n

// Arguments and flags that several commands share. An invalid value is wrong usage: exit code 2, before anything is read.

/** Describes a command, with examples: each is a command line and its purpose. */
export const help =
  (description: string, ...examples: ReadonlyArray<readonly [command: string, description: string]>) =>
  <Name extends string, Input, Context, E, R>(command: Command.Command<Name, Input, Context, E, R>) =>
    command.pipe(
      Command.withDescription(description),
      Command.withExamples(examples.map(([command, description]) => ({ command, description })))
    )

export const choice = <const Choices extends ReadonlyArray<string>>(name: string, choices: Choices, description: string) =>
  Flag.Literals(name, choices).pipe(Flag.withDescription(description))

export const flag = <A>(name: string, schema: Schema.Codec<A, string>, description: string) =>
  Flag.String(name).pipe(Flag.withSchema(schema), Flag.withDescription(description))

export const Words = (maximum: number) => Schema.Trim.check(Schema.isNonEmpty(), Schema.isMaxLength(maximum))

export const WholeNumber = (maximum: number) =>
  Schema.FiniteFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum }))

export const words = (name: string, maximum: number, description: string) => flag(name, Words(maximum), description)

export const reason = words("reason", 500, "why, for the audit log")

export const isGiven = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDefault(false), Flag.withDescription(description))

/** Null where the flag is absent. */
export const only = <A>(flag: Flag.Flag<A>, description: string) =>
  flag.pipe(Flag.optional, Flag.withDescription(description), Flag.map(Option.getOrNull))

export const appId = Argument.String("APP_ID").pipe(
  Argument.withSchema(AppId),
  Argument.withDescription("the tenant: 1 to 40 characters of a-z, 0-9, _ and -")
)

export const mode = choice("mode", Mode.literals, "live or test")

/** A name for the examples in the help texts. */
export const exampleProvider = providerNames[0] ?? "PROVIDER"

export const providerName = Argument.String("PROVIDER").pipe(Argument.withDescription("a name that `provider list` prints"))

export const reference = Argument.String("REFERENCE").pipe(Argument.withDescription("the transaction's reference"))

export const currencyArgument = Argument.Literals("CURRENCY", Currency.literals).pipe(
  Argument.withDescription(`the currency: ${Currency.literals.join(", ")}`)
)

export const currency = choice("currency", Currency.literals, "the currency")

/** A whole number of minor units, more than zero. */
export const Amount = Schema.BigIntFromString.pipe(
  Schema.check(Schema.isBetweenBigInt({ minimum: 1n, maximum: LARGEST_AMOUNT })),
  Schema.decodeTo(Schema.toType(MinorUnits))
)

/** As `Amount`, or zero. */
export const AmountOrNothing = Schema.BigIntFromString.pipe(
  Schema.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: LARGEST_AMOUNT })),
  Schema.decodeTo(Schema.toType(MinorUnits))
)

/** A record's revision, as it is printed; it increases with every change of the record. */
export const Revision = Schema.BigIntFromString.pipe(
  Schema.check(Schema.isBetweenBigInt({ minimum: 1n, maximum: LARGEST_REVISION }))
)

export const amountMinor = flag("amount-minor", Amount, "a whole number of the currency's smallest unit, more than zero")

/** A UTC time, as it is printed: 2026-01-31T12:00:00.000Z. */
export const MomentText = Schema.String.check(
  Schema.makeFilter((text: string) => Option.isSome(instantOf(text)) || "is a moment of UTC, such as 2026-01-31T12:00:00.000Z")
)

export const moment = (name: string, description: string) =>
  flag(name, MomentText, description).pipe(
    Flag.optional,
    Flag.map((text): Instant | null => Option.getOrNull(Option.flatMap(text, instantOf)))
  )

/** Words separated by commas, none of them twice; `none` is an empty list. */
export const CommaList = <S extends Schema.Codec<string>>(word: S) =>
  Schema.String.pipe(
    Schema.decodeTo(Schema.Array(word).check(isDistinct), {
      decode: SchemaGetter.transform((text: string) => (text === "none" ? [] : text.split(",").map((one) => one.trim()))),
      encode: SchemaGetter.transform((words: ReadonlyArray<string>) => (words.length === 0 ? "none" : words.join(",")))
    })
  )

const isDistinct = Schema.makeFilter((words: ReadonlyArray<string>) => new Set(words).size === words.length, {
  expected: "no word twice"
})

/** Refuses a provider that this program does not know. A known one without an account passes, because it may get one later. */
export const requireKnownProviders = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const unknown = names.find((name) => !providerNames.includes(name))
  if (unknown !== undefined)
    return yield* new CommandRefusal(`there is no provider ${unknown}: the providers are ${providerNames.join(", ")}`)
})
