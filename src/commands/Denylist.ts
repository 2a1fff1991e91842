import { Effect, Option, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Country } from "../domain/Corridor.ts"
import { type DeniedAs, type DenylistEntry, type DenylistKind, newDenial } from "../domain/Denylist.ts"
import { iso } from "../domain/Instant.ts"
import { maskedText } from "../domain/Masking.ts"
import { Denylist } from "../services/ports/Denylist.ts"
import { choice, flag, help, isGiven, reason, Words } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"
import { OR_TYPED, typedLine } from "./TypedLine.ts"

const LISTED_AT_MOST = 1_000
const value = Argument.String("VALUE").pipe(
  Argument.withSchema(Words(128)),
  Argument.withDescription(`what is denied, as a payout or a charge would name it; ${OR_TYPED}`)
)
const country = flag("country", Country, "the country of a national number, such as UG").pipe(Flag.optional)
const isAccount = isGiven("account", "VALUE is the number of an account, and no phone's")

interface Denied extends DeniedAs {
  readonly kind: DenylistKind
  readonly value: string
  readonly reason: string
}

const view = ({ createdAt, kind, masked, party, reason }: DenylistEntry) => ({
  kind,
  party,
  masked,
  reason,
  created_at: iso(createdAt)
})

/** The list stores the value as a keyed HMAC and its last characters: the value cannot be read back. */
const deny = Effect.fn("deny")(function* (action: string, { kind, reason: said, value, ...as }: Denied) {
  const denials = yield* Denylist
  const denied = newDenial(kind, yield* typedLine(value), as)
  if (Result.isFailure(denied)) return yield* new CommandRefusal(denied.failure)
  const { masked, party } = denied.success
  const reason = maskedText(said)
  const entry = yield* auditEntry(action, masked, { kind, reason })
  if (!(yield* denials.add(kind, denied.success, reason, entry))) {
    return yield* new CommandRefusal(`${masked} is on the list already`)
  }
  yield* printResult(view({ kind, party, masked, reason, createdAt: entry.at }))
})

const ALIKE = "An entry without a party has letters in it, or is of an earlier release and denies a phone and an account alike"

const listCommand = (group: string, kinds: ReadonlyArray<DenylistKind>, description: string) =>
  Command.make(
    "list",
    {},
    Effect.fn(function* () {
      yield* printResult((yield* (yield* Denylist).list(kinds, LISTED_AT_MOST)).map(view))
    }, Effect.provide(operatorPorts))
  ).pipe(help(description, [`gateway ${group} list`, description]))

export const block = Command.make("block").pipe(
  help("Destinations that payouts may not go to"),
  Command.withSubcommands([
    Command.make(
      "add",
      { value, reason, country, isAccount },
      Effect.fn(
        ({ country, ...given }) => deny("block add", { ...given, kind: "destination", country: Option.getOrNull(country) }),
        Effect.provide(operatorPorts)
      )
    ).pipe(
      help(
        "Refuse payouts to a number, an account or a handle. The list keeps a keyed hash of it, so that nobody can read it back",
        ['gateway block add - --reason "reported as fraud"', "Refuse payouts to a number that is typed after it"],
        ['gateway block add 0772123456 --country UG --reason "reported as fraud"', "A number as it is written at home"]
      )
    ),
    listCommand("block", ["destination"], `List the blocked destinations, masked. ${ALIKE}`)
  ])
)

export const screening = Command.make("screening").pipe(
  help("Numbers and names that screening denies, on either side"),
  Command.withSubcommands([
    Command.make(
      "deny",
      {
        value,
        reason,
        country,
        isAccount,
        kind: choice("kind", ["number", "name"], "what VALUE is")
      },
      Effect.fn(
        ({ country, kind, ...given }) =>
          deny("screening deny", {
            ...given,
            kind: kind === "name" ? "screened_name" : "screened_number",
            country: Option.getOrNull(country)
          }),
        Effect.provide(operatorPorts)
      )
    ).pipe(
      help("Refuse payments to and from a number or a name. The list keeps a keyed hash of it, so that nobody can read it back", [
        'gateway screening deny "John Doe" --kind name --reason "sanctions list"',
        "Refuse payments to and from a name"
      ])
    ),
    listCommand("screening", ["screened_number", "screened_name"], `List what screening denies, masked. ${ALIKE}`)
  ])
)
