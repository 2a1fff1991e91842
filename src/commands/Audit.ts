import { Effect, Option, Schema, SchemaGetter } from "effect"
import { Command, Flag } from "effect/cli"
import { AppId, Mode } from "../domain/Ids.ts"
import { iso } from "../domain/Instant.ts"
import { AuditLog } from "../services/ports/AuditLog.ts"
import { TenantChanges } from "../services/ports/TenantChanges.ts"
import { choice, flag, help, WholeNumber } from "./Arguments.ts"
import { CommandRefusal, WrongUsage } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { printResult } from "./Output.ts"

const ROWS_LISTED = 100
const MOST_ROWS = 10_000

/** A head as the gateway's log shows it: row number and hash. Metrics have the first twelve digits of the hash, as a number. */
const Head = Schema.String.check(Schema.isPattern(/^[1-9]\d{0,17}:[0-9a-f]{12,64}$/)).pipe(
  Schema.decodeTo(Schema.Struct({ sequence: Schema.BigInt, hash: Schema.String }), {
    decode: SchemaGetter.transform((text: string) => ({
      sequence: BigInt(text.slice(0, text.indexOf(":"))),
      hash: text.slice(text.indexOf(":") + 1)
    })),
    encode: SchemaGetter.transform(
      ({ hash, sequence }: { readonly sequence: bigint; readonly hash: string }) => `${sequence}:${hash}`
    )
  })
)

const list = Command.make(
  "list",
  {
    app: flag("app", AppId, "what this tenant changed itself, with its own keys, instead of what operators changed").pipe(
      Flag.optional
    ),
    mode: choice("mode", Mode.literals, "with --app: of this mode only").pipe(Flag.optional),
    limit: flag("limit", WholeNumber(MOST_ROWS), `at most so many rows, ${ROWS_LISTED} if left out`).pipe(
      Flag.withDefault(ROWS_LISTED)
    )
  },
  Effect.fn(function* ({ app, limit, mode }) {
    if (Option.isSome(app)) return yield* printResult(yield* ofTenant(app.value, Option.getOrNull(mode), limit))
    if (Option.isSome(mode)) return yield* new WrongUsage("--mode is for the changes of one tenant: name it with --app")
    const log = yield* AuditLog
    const rows = yield* log.list(limit)
    yield* printResult(
      rows.map(({ action, actor, at, details, hash, sequence, subject }) => ({
        sequence,
        at: iso(at),
        actor,
        action,
        subject,
        details,
        hash
      }))
    )
  }, Effect.provide(operatorPorts))
).pipe(
  help("List what operators changed, or what one tenant changed itself; the newest first", [
    "gateway audit list --app shop --mode live",
    "List what a tenant changed with its own keys"
  ])
)

const ofTenant = Effect.fnUntraced(function* (appId: AppId, mode: Mode | null, limit: number) {
  const changes = yield* TenantChanges
  const rows = yield* changes.list(appId, mode, limit)
  return rows.map(({ action, actor, at, details, place, tenant }) => ({
    mode: tenant.mode,
    place,
    at: iso(at),
    actor,
    action,
    details
  }))
})

const verify = Command.make(
  "verify",
  {
    head: flag(
      "head",
      Head,
      "N:HASH, a head that was seen outside the database: the log must still hold that row, and all before it"
    ).pipe(Flag.optional)
  },
  Effect.fn(function* ({ head: exported }) {
    const log = yield* AuditLog
    const { access, brokenAt, forged, head, rows, why } = yield* log.verify(Option.getOrNull(exported))
    yield* printResult({
      ok: brokenAt === null && access.length === 0,
      rows,
      broken_at: brokenAt,
      why,
      forged,
      head: `${head.sequence}:${head.hash}`,
      differences: access
    })
    const wrong = [
      ...(brokenAt === null ? [] : [`the audit log is broken at row ${brokenAt}: ${why}`]),
      ...(access.length === 0
        ? []
        : [`${access.length} rows that say who may do what are not as the audit log says: ${access[0]?.subject}`])
    ]
    if (wrong.length > 0) return yield* new CommandRefusal(wrong.join("; "))
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Recompute the keyed chain of the audit log, and replay it: operators, keys, tenants, limits, ceilings, denials, corridors and proposals have to be as it says. Exit 1 where a row was changed or is missing, where the exported head is not in it, or where they differ",
    ["gateway audit verify", "Check the chain of the audit log; run it daily"]
  )
)

export const audit = Command.make("audit").pipe(
  help("The audit log: one row of a keyed chain for each change that an operator made; and what tenants changed themselves"),
  Command.withSubcommands([list, verify])
)
