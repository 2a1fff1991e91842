import { Effect, Option, Schema, SchemaGetter } from "effect"
import { Argument, Flag } from "effect/cli"
import { providerNames } from "../App.ts"
import { Currency } from "../domain/Currency.ts"
import { AppId, Mode } from "../domain/Ids.ts"
import { type Instant, instantOf } from "../domain/Instant.ts"
import { LARGEST_AMOUNT, MinorUnits } from "../domain/Money.ts"
import { CommandRefusal } from "./CommandRefusal.ts"

/** Of a column of the type bigint. */
const LARGEST_REVISION = 2n ** 63n - 1n

// Arguments and flags that several commands take. A value that does not fit is wrong usage: exit code 2, before anything is read.

export const appId = Argument.String("APP_ID").pipe(
  Argument.withSchema(AppId),
  Argument.withDescription("the tenant: 1 to 40 characters of a-z, 0-9, _ and -")
)

export const mode = Flag.Literals("mode", Mode.literals).pipe(Flag.withDescription("live or test"))

/** A name for the examples in the help texts. */
export const exampleProvider = providerNames[0] ?? "PROVIDER"

export const providerName = Argument.String("PROVIDER").pipe(Argument.withDescription("a name that `provider list` prints"))

/** Of a transaction. */
export const reference = Argument.String("REFERENCE").pipe(Argument.withDescription("the transaction's reference"))

export const currencyArgument = Argument.Literals("CURRENCY", Currency.literals).pipe(
  Argument.withDescription(`the currency: ${Currency.literals.join(", ")}`)
)

export const currency = Flag.Literals("currency", Currency.literals).pipe(Flag.withDescription("the currency"))

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

/** A record's revision, as it is printed: it grows with every change of the record. */
export const Revision = Schema.BigIntFromString.pipe(
  Schema.check(Schema.isBetweenBigInt({ minimum: 1n, maximum: LARGEST_REVISION }))
)

export const amountMinor = Flag.String("amount-minor").pipe(
  Flag.withSchema(Amount),
  Flag.withDescription("a whole number of the currency's smallest unit, more than zero")
)

/** A moment of UTC, as it is printed: 2026-01-31T12:00:00.000Z. */
export const MomentText = Schema.String.check(
  Schema.makeFilter((text: string) => Option.isSome(instantOf(text)) || "is a moment of UTC, such as 2026-01-31T12:00:00.000Z")
)

export const moment = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withSchema(MomentText),
    Flag.optional,
    Flag.withDescription(description),
    Flag.map((text): Instant | null => Option.getOrNull(Option.flatMap(text, instantOf)))
  )

/** A text that is not empty and has a bounded length. */
export const Words = (maximum: number) => Schema.Trim.check(Schema.isNonEmpty(), Schema.isMaxLength(maximum))

/** Words with commas between them and no word twice; `none` is an empty list. */
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

/** Refuses the name of a provider that this program does not know; one without an account may get one tomorrow. */
export const requireKnownProviders = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const unknown = names.find((name) => !providerNames.includes(name))
  if (unknown !== undefined)
    return yield* new CommandRefusal({
      message: `there is no provider ${unknown}: the providers are ${providerNames.join(", ")}`
    })
})
