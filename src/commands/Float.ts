import { Effect, Option, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { Mode } from "../domain/Ids.ts"
import { isoOrNull } from "../domain/Instant.ts"
import type { FloatPosition } from "../domain/Ledger.ts"
import { positionView } from "../domain/View.ts"
import { entryView, statementLines } from "../services/FloatStatement.ts"
import { type FloatBalance, FloatEntries } from "../services/ports/FloatEntries.ts"
import { FloatLedger } from "../services/ports/FloatLedger.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { type AdjustmentWish, FloatAdjustments } from "../services/tenants/FloatAdjustments.ts"
import { amountMinor, appId, choice, currency, help, isGiven, mode, moment, words } from "./Arguments.ts"
import { CommandRefusal, noTenant } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { bySystemUser } from "./Operator.ts"
import { AsJson, printErrors, printLines, printResult } from "./Output.ts"

const adjustmentFlags = {
  appId,
  mode,
  currency,
  amount: amountMinor,
  externalId: words(
    "external-id",
    128,
    "names this adjustment outside: the same one again posts nothing and answers the first result"
  ),
  note: words("note", 500, "why, for the audit log")
}

const adjustCommand = (direction: AdjustmentWish["direction"], description: string) =>
  Command.make(
    direction,
    adjustmentFlags,
    Effect.fn(function* (wish) {
      yield* printResult(heldView(yield* adjustFloat({ ...wish, direction })))
    }, Effect.provide(operatorPorts))
  ).pipe(
    help(description, [
      `gateway float ${direction} shop --mode live --currency UGX --amount-minor 1000000 --external-id bank-17 --note "transfer 17"`,
      "Adjust a float by UGX 1,000,000, once however often this runs"
    ])
  )

const list = Command.make(
  "list",
  { appId, mode },
  Effect.fn(function* ({ appId, mode }) {
    const tenants = yield* Tenants
    const ledger = yield* FloatLedger
    if ((yield* tenants.find(appId))._tag === "None") return yield* noTenant(appId)
    yield* printResult((yield* ledger.positions(appId, mode)).map(heldView))
  }, Effect.provide(operatorPorts))
).pipe(help("List a tenant's float, one position a currency", ["gateway float list shop --mode live", "List a tenant's float"]))

const ENTRIES_SHOWN = 1_000

/** An older entry was committed meanwhile, or the database was too busy. */
const notRead = () =>
  Effect.fail(
    new CommandRefusal(
      "the statement is not whole, because the float was written to meanwhile or the database is busy: run this again"
    )
  )

const statement = Command.make(
  "statement",
  {
    appId,
    mode: choice("mode", Mode.literals, "live or test; live if left out").pipe(Flag.withDefault("live" as const)),
    currency,
    from: moment("from", "entries of this moment or later, such as 2026-01-31T12:00:00.000Z; all if left out"),
    to: moment("to", "entries before this moment"),
    csv: isGiven("csv", `print all of them as CSV, a row a line; without it the first ${ENTRIES_SHOWN} are shown`)
  },
  Effect.fn(
    function* ({ csv, from, to, ...float }) {
      if (csv && (yield* AsJson)) return yield* new CommandRefusal("--csv and --json are two forms: give one of them")
      if (Option.isNone(yield* (yield* Tenants).find(float.appId))) return yield* noTenant(float.appId)
      const entries = yield* FloatEntries
      const range = { from, to, type: null, reference: null }
      if (csv) {
        const lines = yield* statementLines((page) => entries.statement(float, range, page))
        return yield* Stream.runForEach(lines, (some) => printLines(...some))
      }
      const { closing, items, next, opening } = yield* entries.statement(float, range, { limit: ENTRIES_SHOWN, after: null })
      const shown = { from: isoOrNull(from), to: isoOrNull(to) }
      const balances = { opening: balanceView(opening), closing: balanceView(closing) }
      yield* printResult({ currency: float.currency, ...shown, ...balances, items: items.map(entryView) })
      if (next !== null) yield* printErrors("there are more, and closing is after those shown: --csv prints all of them")
    },
    Effect.catchTags({ rate_limited: notRead, validation_failed: notRead }),
    Effect.provide(operatorPorts)
  )
).pipe(
  help(
    "Print the statement of a float as its tenant reads it: every entry, the oldest first, without operators' notes. Of what would steer a terminal an escape is printed",
    [
      "gateway float statement shop --currency UGX --from 2026-05-01T00:00:00.000Z --to 2026-06-01T00:00:00.000Z --csv > may.csv",
      "A month as a file"
    ]
  )
)

export const float = Command.make("float").pipe(
  help("A tenant's float: its own claim on the providers' wallets"),
  Command.withSubcommands([
    adjustCommand("credit", "Add to a float, once per external id"),
    adjustCommand("debit", "Take from a float, once per external id"),
    list,
    statement
  ])
)

const balanceView = ({ available, reserved }: FloatBalance) => ({ available_minor: available, reserved_minor: reserved })

/** The position as its tenant sees it, and what the tenant owes. */
const heldView = (position: FloatPosition) => ({
  ...positionView(position),
  ...(position.receivable === undefined ? {} : { receivable_minor: position.receivable })
})

/** The position right after the posting, even if this external id was posted before. */
export const adjustFloat = Effect.fn("adjustFloat")(
  function* (wish: AdjustmentWish) {
    const { adjust } = yield* FloatAdjustments
    return (yield* adjust(wish, yield* bySystemUser)).position
  },
  Effect.catchTags({
    NotAdjusted: ({ message }) => Effect.fail(new CommandRefusal(message)),
    NoSuchTenant: ({ appId }) => Effect.fail(noTenant(appId))
  }),
  Effect.provide(FloatAdjustments.layer)
)
