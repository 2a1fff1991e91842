import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type { FloatPosition } from "../domain/Ledger.ts"
import { positionView } from "../domain/View.ts"
import { FloatLedger } from "../services/ports/FloatLedger.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { type AdjustmentWish, FloatAdjustments } from "../services/tenants/FloatAdjustments.ts"
import { amountMinor, appId, currency, mode, Words } from "./Arguments.ts"
import { CommandRefusal, noTenant } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { bySystemUser } from "./Operator.ts"
import { printResult } from "./Output.ts"

const adjustmentFlags = {
  appId,
  mode,
  currency,
  amount: amountMinor,
  externalId: Flag.String("external-id").pipe(
    Flag.withSchema(Words(128)),
    Flag.withDescription("names this adjustment outside: the same one again posts nothing and answers the first result")
  ),
  note: Flag.String("note").pipe(Flag.withSchema(Words(500)), Flag.withDescription("why, for the audit log"))
}

const adjustCommand = (direction: AdjustmentWish["direction"], description: string) =>
  Command.make(
    direction,
    adjustmentFlags,
    Effect.fn(function* (wish) {
      yield* printResult(heldView(yield* adjustFloat({ ...wish, direction })))
    }, Effect.provide(operatorPorts))
  ).pipe(
    Command.withDescription(description),
    Command.withExamples([
      {
        command: `gateway float ${direction} shop --mode live --currency UGX --amount-minor 1000000 --external-id bank-17 --note "transfer 17"`,
        description: "Adjust a float by UGX 1,000,000, once however often this runs"
      }
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
).pipe(
  Command.withDescription("List a tenant's float, one position a currency"),
  Command.withExamples([{ command: "gateway float list shop --mode live", description: "List a tenant's float" }])
)

export const float = Command.make("float").pipe(
  Command.withDescription("A tenant's float: its own claim on the providers' wallets"),
  Command.withSubcommands([
    adjustCommand("credit", "Add to a float, once per external id"),
    adjustCommand("debit", "Take from a float, once per external id"),
    list
  ])
)

/** The position as its tenant sees it, and what the tenant owes. */
const heldView = (position: FloatPosition) => ({
  ...positionView(position),
  ...(position.receivable === undefined ? {} : { receivable_minor: position.receivable })
})

/** The position right after the posting, also when this external id was posted before. */
export const adjustFloat = Effect.fn("adjustFloat")(
  function* (wish: AdjustmentWish) {
    const { adjust } = yield* FloatAdjustments
    return (yield* adjust(wish, yield* bySystemUser)).position
  },
  Effect.catchTags({
    NotAdjusted: ({ message }) => Effect.fail(new CommandRefusal({ message })),
    NoSuchTenant: ({ appId }) => Effect.fail(noTenant(appId))
  }),
  Effect.provide(FloatAdjustments.layer)
)
