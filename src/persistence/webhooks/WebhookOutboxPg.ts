import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { EventType } from "../../domain/Event.ts"
import { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { type Attempt, type DueDelivery, type Endpoint, type Verdict, WebhookOutbox } from "../../services/ports/WebhookOutbox.ts"
import { advisoryLocks } from "../AdvisoryLocks.ts"
import { Moment, rowsOf } from "../Rows.ts"
import { batched } from "../StepBatch.ts"
import { type AttemptStep, attemptParameters, attemptStatement } from "./AttemptStatement.ts"
import { claimStatement } from "./ClaimStatement.ts"
import { webhookSecret } from "./WebhookSecret.ts"

const claimed = rowsOf(
  Schema.Struct({
    appId: AppId,
    mode: Mode,
    url: Schema.String,
    secretSealed: Schema.Uint8Array,
    previousSealed: Schema.NullOr(Schema.Uint8Array),
    id: Reference,
    eventId: Reference,
    eventType: EventType,
    body: Schema.String,
    attempts: Schema.Number,
    createdAt: Moment,
    traceparent: Schema.NullOr(Schema.String)
  })
)

type SealedEndpoint = Omit<Endpoint, "secret" | "previousSecret"> & {
  readonly secretSealed: Uint8Array
  readonly previousSealed: Uint8Array | null
}

/** Of so many endpoints the secrets stay open. */
const ENDPOINTS_OPEN = 1_000

/** The outbox on PostgreSQL: due deliveries are rows that are leased to one node at a time. */
export const WebhookOutboxPg = Layer.effect(
  WebhookOutbox,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const open = openingOnce(yield* Vault)

    // The lock stands before the statement, so that the statement sees every lease that was taken before it.
    const claim = (now: Instant, limit: number, perEndpoint: number, leaseMs: number) =>
      sql.withTransaction(
        Effect.andThen(
          sql`SELECT pg_advisory_xact_lock(${advisoryLocks.deliveryClaims})`,
          claimed(sql.unsafe(claimStatement, [iso(now), limit, perEndpoint, iso(now + leaseMs)]))
        )
      )

    const claimDue = Effect.fn("WebhookOutbox.claimDue")(function* (
      now: Instant,
      limit: number,
      perEndpoint: number,
      leaseMs: number
    ) {
      const deliveries: Array<DueDelivery> = []
      for (const row of yield* claim(now, limit, perEndpoint, leaseMs)) {
        const { attempts, body, createdAt, eventId, eventType, id, traceparent } = row
        deliveries.push({ id, endpoint: yield* open(row), eventId, eventType, body, attempts, createdAt, traceparent })
      }
      return deliveries
    }, Effect.orDie)

    const settleStep = yield* batched({
      statement: (steps: ReadonlyArray<AttemptStep>) => {
        const turns = inTurns(steps)
        const written = Effect.forEach(turns, (turn) => sql.unsafe(attemptStatement, attemptParameters(turn)), { discard: true })
        return Effect.as(turns.length === 1 ? written : sql.withTransaction(written), steps)
      },
      // The delivery was settled by this attempt, or by whoever claimed it since: nothing is left to do.
      doubted: (_step, result) => Effect.succeed(result),
      laneOf: ({ attempt }) => webhookSecret(attempt.delivery.endpoint.appId, attempt.delivery.endpoint.mode),
      // A held delivery is one of many of its endpoint: the others' attempts are written without it.
      wasHeld: () => false
    })
    const settle = (attempt: Attempt, verdict: Verdict) => Effect.asVoid(settleStep({ attempt, verdict }))

    return WebhookOutbox.of({ claimDue, settle })
  })
)

/** Opens what an endpoint's row seals, and not again until it is another row. */
const openingOnce = (vault: Vault["Service"]) => {
  const known = new Map<string, { readonly row: SealedEndpoint; readonly endpoint: Endpoint }>()
  return Effect.fnUntraced(function* (row: SealedEndpoint) {
    const { appId, mode, previousSealed, secretSealed, url } = row
    const purpose = webhookSecret(appId, mode)
    const last = known.get(purpose)
    if (last !== undefined && isSame(last.row, row)) return last.endpoint
    const secret = yield* vault.open(purpose, secretSealed)
    const previous = previousSealed === null ? {} : { previousSecret: yield* vault.open(purpose, previousSealed) }
    const endpoint: Endpoint = { appId, mode, url, secret, ...previous }
    for (const oldest of known.size < ENDPOINTS_OPEN ? [] : known.keys().take(1)) known.delete(oldest)
    known.set(purpose, { row: { appId, mode, url, secretSealed, previousSealed }, endpoint })
    return endpoint
  })
}

const isSame = (one: SealedEndpoint, other: SealedEndpoint): boolean =>
  one.url === other.url &&
  isSealedSame(one.secretSealed, other.secretSealed) &&
  isSealedSame(one.previousSealed, other.previousSealed)

const isSealedSame = (one: Uint8Array | null, other: Uint8Array | null): boolean =>
  one === null || other === null ? one === other : Buffer.compare(one, other) === 0

/** No delivery is in a turn twice, which happens when its lease ran out: a statement would write only one of the two attempts. */
const inTurns = (steps: ReadonlyArray<AttemptStep>): ReadonlyArray<ReadonlyArray<AttemptStep>> => {
  const turns: Array<Map<string, AttemptStep>> = []
  for (const step of steps) {
    const { id } = step.attempt.delivery
    const free = turns.find((turn) => !turn.has(id))
    if (free === undefined) turns.push(new Map([[id, step]]))
    else free.set(id, step)
  }
  return turns.map((turn) => [...turn.values()])
}
