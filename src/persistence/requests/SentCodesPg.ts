import { Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import type { WindowUse } from "../../domain/VelocityLimits.ts"
import type { Codes, CountedCode, SendQuotaOutcome } from "../../services/ports/Codes.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import type { OfTenant } from "../connection/ServerPlaces.ts"

const sentRows = rowsOf(Schema.Struct({ account: Schema.NullOr(Schema.String) }))
const requestRows = rowsOf(Schema.Struct({ sent: Schema.Array(Moment) }))

/** A number's codes are counted over both modes: what stands in the place of the mode. */
const BOTH_MODES = "both"

/**
 * The part of `CodesPg` that counts codes and knows to whom they were sent. It owns code_requests and sent_codes. The row of the number is
 * locked by its upsert, then the windows by their names, so that requests for one number are counted one after the other.
 */
export const sentCodes = (
  sql: SqlClient.SqlClient,
  ofTenant: OfTenant
): Pick<Codes["Service"], "request" | "unsent" | "sent" | "sentBy"> => {
  /** The moment from which on the number may be texted again; null where it may now, and is counted. */
  const countNumber = Effect.fnUntraced(function* ({ appId, at, partyHash }: CountedCode, atMost: number, windowMs: number) {
    const own = sql`app_id = ${appId} AND mode = ${BOTH_MODES} AND party_hash = ${partyHash}`
    // The row that stands there is locked by the conflict. What it becomes is counted here: Citus takes no subquery where a conflict is resolved.
    const [row] = yield* requestRows(sql`INSERT INTO code_requests AS r (app_id, mode, party_hash, sent)
      VALUES (${appId}, ${BOTH_MODES}, ${partyHash}, '{}') ON CONFLICT (app_id, mode, party_hash) DO UPDATE SET sent = r.sent RETURNING sent`)
    if (row === undefined) return yield* Effect.die(new Error("a code request was not counted"))
    const inWindow = [...row.sent, at].filter((moment) => moment > at - windowMs).sort((one, other) => one - other)
    // One more than are granted says that they are full.
    const kept = inWindow.slice(0, atMost + 1)
    yield* sql`UPDATE code_requests SET sent = ${kept.map(iso)}::timestamptz[] WHERE ${own}`
    return kept.length <= atMost ? null : (kept[0] ?? at) + windowMs
  })

  const countWindow = Effect.fnUntraced(function* (counter: WindowUse) {
    const { amount, appId, bound, mode, name, startsAt, subject } = counter
    if (amount > bound) return false
    const counted = yield* sql`INSERT INTO counters AS c (app_id, mode, name, subject, starts_at, used)
      VALUES (${appId}, ${mode}, ${name}, ${subject}, ${iso(startsAt)}::timestamptz, ${amount}::bigint)
      ON CONFLICT (app_id, mode, name, subject, starts_at) DO UPDATE SET used = c.used + EXCLUDED.used
        WHERE c.used + EXCLUDED.used <= ${bound}::bigint
      RETURNING 1 AS counted`
    return counted.length === 1
  })

  const request: Codes["Service"]["request"] = Effect.fn("Codes.request")((code, { perNumber, windowMs }) =>
    Effect.gen(function* () {
      const freeAt = yield* countNumber(code, perNumber, windowMs)
      // A failure takes back what was counted before it.
      if (freeAt !== null) return yield* Effect.fail({ _tag: "NumberFull", freeAt } as const)
      for (const counter of inLockOrder(code.counters))
        if (!(yield* countWindow(counter))) return yield* Effect.fail({ _tag: "TenantFull", counter } as const)
      return { _tag: "Granted" } as const
    }).pipe(
      (counted) => ofTenant(code.appId)(sql.withTransaction(counted)),
      Effect.catchTag("NumberFull", (full): Effect.Effect<SendQuotaOutcome> => Effect.succeed(full)),
      Effect.catchTag("TenantFull", (full): Effect.Effect<SendQuotaOutcome> => Effect.succeed(full)),
      Effect.orDie
    )
  )

  const unsent = Effect.fn("Codes.unsent")(
    function* ({ appId, at, counters, partyHash }: CountedCode) {
      // One of those that were counted in the same millisecond, and not all of them.
      const taken = yield* sql`UPDATE code_requests SET sent = sent[:array_position(sent, ${iso(at)}::timestamptz) - 1]
          || sent[array_position(sent, ${iso(at)}::timestamptz) + 1:]
        WHERE app_id = ${appId} AND mode = ${BOTH_MODES} AND party_hash = ${partyHash}
          AND array_position(sent, ${iso(at)}::timestamptz) IS NOT NULL RETURNING 1 AS taken`
      if (taken.length === 0) return
      for (const { amount, appId, mode, name, startsAt, subject } of inLockOrder(counters))
        yield* sql`UPDATE counters SET used = greatest(used - ${amount}::bigint, 0) WHERE app_id = ${appId} AND mode = ${mode}
          AND name = ${name} AND subject = ${subject} AND starts_at = ${iso(startsAt)}::timestamptz`
    },
    (effect, { appId }) => ofTenant(appId)(sql.withTransaction(effect)),
    Effect.orDie
  )

  const sent: Codes["Service"]["sent"] = Effect.fn("Codes.sent")(function* ({ account, appId, mode, partyHash, pinId }, at) {
    yield* ofTenant(appId)(sql`INSERT INTO sent_codes (app_id, mode, pin_id, party_hash, account, at)
      VALUES (${appId}, ${mode}, ${pinId}, ${partyHash}, ${account}, ${iso(at)}::timestamptz)
      ON CONFLICT (app_id, mode, pin_id) DO UPDATE SET party_hash = EXCLUDED.party_hash, account = EXCLUDED.account, at = EXCLUDED.at`)
  }, Effect.orDie)

  const sentBy: Codes["Service"]["sentBy"] = Effect.fn("Codes.sentBy")(function* ({ appId, mode, partyHash, pinId }) {
    const [row] = yield* sentRows(
      ofTenant(appId)(sql`SELECT account FROM sent_codes
      WHERE app_id = ${appId} AND mode = ${mode} AND pin_id = ${pinId} AND party_hash = ${partyHash}`)
    )
    return Option.map(Option.fromUndefinedOr(row), ({ account }) => account)
  })

  return { request, unsent, sent, sentBy }
}

/** As every statement locks windows. */
const inLockOrder = (counters: ReadonlyArray<WindowUse>): ReadonlyArray<WindowUse> =>
  counters.toSorted((one, other) => (one.name < other.name ? -1 : 1))
