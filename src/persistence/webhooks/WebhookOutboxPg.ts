import { Array as Arr, Effect, Exit, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { EndpointName, queueOf } from "../../domain/WebhookEndpoint.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { type DueDelivery, type SigningEndpoint, WebhookOutbox } from "../../services/ports/WebhookOutbox.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { Distribution } from "../connection/Distribution.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { makeBatcher, onOwnConnection } from "../connection/StepBatch.ts"
import { deliveryClaims } from "./DeliveryClaims.ts"
import {
  type AttemptStep,
  attemptNotes,
  attemptParameters,
  isNamed,
  noteAttemptsSql,
  recordAttemptSql,
  recordNamedAttemptSql,
  settleAttemptsSql,
  settleNamedAttemptsSql
} from "./RecordAttemptSql.ts"
import { webhookSecret } from "./WebhookEndpointsPg.ts"

const decodeClaimed = Schema.decodeUnknownEffect(
  Schema.Array(
    Schema.Struct({
      appId: AppId,
      mode: Mode,
      name: EndpointName,
      url: Schema.String,
      secretSealed: Schema.Uint8Array,
      previousSealed: Schema.NullOr(Schema.Uint8Array),
      id: Reference,
      eventId: Reference,
      // A text, because a type that only a newer release knows is delivered like any other.
      eventType: Schema.String,
      body: Schema.String,
      attempts: Schema.Number,
      createdAt: Moment,
      reference: Schema.NullOr(Reference),
      traceparent: Schema.NullOr(Schema.String)
    })
  )
)

type SealedEndpoint = Omit<SigningEndpoint, "secret" | "previousSecret"> & {
  readonly secretSealed: Uint8Array
  readonly previousSealed: Uint8Array | null
}

/** How many endpoints' decrypted secrets are cached. */
const SECRETS_CACHED = 1_000

/**
 * WebhookOutbox on PostgreSQL: it claims deliveries and records their attempts. An advisory lock lets one node claim at a time,
 * so that each endpoint's limit is counted over all nodes; a lease gives a delivery to one node. It owns due_deliveries,
 * webhook_flights and their twins. An attempt changes a delivery only if no other attempt has since.
 */
export const WebhookOutboxPg = layerOf(WebhookOutbox)(function* () {
  const sql = yield* SqlClient.SqlClient
  const everyTenant = yield* EveryTenant
  const open = cachedSecrets(yield* Vault)

  const claimRows = deliveryClaims(sql)

  const record = attemptWriter(sql, yield* Distribution)
  const recorder = makeBatcher({
    statement: (steps: ReadonlyArray<AttemptStep>) => {
      const turns = withoutRepeats(steps)
      const written = Effect.forEach(turns, record, { discard: true })
      return Effect.as(turns.length === 1 ? written : sql.withTransaction(written), steps)
    },
    // This attempt was recorded already, or the next claimant has recorded its own: nothing is left to do.
    recover: (_step, result) => Effect.succeed(result),
    laneOf: ({ attempt }) => purposeOf(attempt.delivery.endpoint),
    // On Citus an attempt of one tenant does not wait for another tenant's server.
    ...everyTenant.lanesOf(({ attempt }: AttemptStep) => attempt.delivery.endpoint.appId),
    // A locked delivery is one of many of its endpoint: the others' attempts are written without it.
    isLockTimeout: () => false
  })
  // No batch has both kinds: one would hold its endpoints' flights, for which every claim waits, while the other waits.
  const [ofDefault, ofNamed] = [yield* recorder, yield* recorder]

  return {
    claimDue: Effect.fn("WebhookOutbox.claimDue")(function* (now, limit, perEndpoint, leaseMs) {
      const deliveries: Array<DueDelivery> = []
      const rows = yield* everyTenant.claim(limit, claimRows({ now, perEndpoint, leaseMs }))
      for (const row of yield* decodeClaimed(rows)) {
        const { appId: app_id, attempts, body, createdAt, eventId, eventType, id, mode, reference, traceparent } = row
        const endpoint = yield* Effect.exit(open(row))
        // Its lease stays, so that no worker claims it again before the lease ends; other endpoints' deliveries continue.
        if (Exit.isFailure(endpoint))
          yield* Effect.annotateLogs(Effect.logError(UNREADABLE), { app_id, mode, endpoint: row.name })
        else
          deliveries.push({ id, endpoint: endpoint.value, eventId, eventType, body, attempts, createdAt, reference, traceparent })
      }
      return deliveries
    }, Effect.orDie),

    recordAttempt: (attempt, verdict) => {
      const step = { attempt, verdict }
      return Effect.asVoid(isNamed(step) ? ofNamed(step) : ofDefault(step))
    }
  }
})

const UNREADABLE = "the secret of a webhook endpoint does not open, and its events wait: let the tenant rotate it"

const PREVIOUS_UNREADABLE =
  "the previous secret of a webhook endpoint does not open, and signs nothing: a receiver that has only that one refuses its events"

const purposeOf = ({ appId, mode, name }: Pick<SigningEndpoint, "appId" | "mode" | "name">): string =>
  webhookSecret(appId, queueOf(mode, name))

/** Opens the sealed secrets of an endpoint's row, and caches them until the row changes. */
const cachedSecrets = (vault: Vault["Service"]) => {
  const known = new Map<string, { readonly row: SealedEndpoint; readonly endpoint: SigningEndpoint }>()
  return Effect.fnUntraced(function* (row: SealedEndpoint) {
    const { appId, mode, name, previousSealed, secretSealed, url } = row
    const purpose = purposeOf(row)
    const last = known.get(purpose)
    if (last !== undefined && isSame(last.row, row)) return last.endpoint
    const secret = yield* vault.open(purpose, secretSealed)
    // A rotation repairs a secret that cannot be opened: the old one then does not sign. Logged once for each row and node.
    const before = previousSealed === null ? null : yield* Effect.exit(vault.open(purpose, previousSealed))
    if (before !== null && Exit.isFailure(before))
      yield* Effect.annotateLogs(Effect.logError(PREVIOUS_UNREADABLE), { app_id: appId, mode, endpoint: name })
    const previous = before === null || Exit.isFailure(before) ? {} : { previousSecret: before.value }
    const endpoint: SigningEndpoint = { appId, mode, name, url, secret, ...previous }
    for (const oldest of known.size < SECRETS_CACHED ? [] : known.keys().take(1)) known.delete(oldest)
    known.set(purpose, { row: { appId, mode, name, url, secretSealed, previousSealed }, endpoint })
    return endpoint
  })
}

const isSame = (one: SealedEndpoint, other: SealedEndpoint): boolean =>
  one.url === other.url &&
  isSealedSame(one.secretSealed, other.secretSealed) &&
  isSealedSame(one.previousSealed, other.previousSealed)

const isSealedSame = (one: Uint8Array | null, other: Uint8Array | null): boolean =>
  one === null || other === null ? one === other : Buffer.compare(one, other) === 0

/** Splits steps so that no statement contains a delivery twice; duplicates arise when a lease expired. */
const withoutRepeats = (steps: ReadonlyArray<AttemptStep>): ReadonlyArray<ReadonlyArray<AttemptStep>> => {
  const turns: Array<Map<string, AttemptStep>> = []
  for (const step of steps) {
    const { id } = step.attempt.delivery
    const free = turns.find((turn) => !turn.has(id))
    if (free === undefined) turns.push(new Map([[id, step]]))
    else free.set(id, step)
  }
  return turns.map((turn) => [...turn.values()])
}

const settledRows = rowsOf(Schema.Struct({ settled: Schema.Array(Schema.Number), isMoved: Schema.Boolean }))

/** Writes attempts of different deliveries in one commit; on Citus one commit per tenant, whose rows are on one server. */
const attemptWriter = (sql: SqlClient.SqlClient, { isDistributed }: Distribution["Service"]) => {
  const ofOneTenant = Effect.fnUntraced(function* (appId: string, steps: ReadonlyArray<AttemptStep>, settle: string) {
    const [row] = yield* settledRows(sql.unsafe(settle, [...attemptParameters(steps), appId]))
    // One of them was requested again between the statement's snapshot and its lock: it is repeated.
    if (row === undefined || row.isMoved) return yield* Effect.die(new Error("a delivery was due at another moment"))
    if (row.settled.length > 0) yield* sql.unsafe(noteAttemptsSql, [appId, ...attemptNotes(steps, row.settled)])
  })

  /** All of them at `default`, or all at named endpoints. */
  return (steps: ReadonlyArray<AttemptStep>) => {
    const of = steps.some(isNamed) ? ofNamedEndpoint : ofDefaultEndpoint
    // It may wait for a locked delivery.
    if (!isDistributed) return onOwnConnection(sql)(sql.unsafe(of.record, attemptParameters(steps)))
    const written = Object.entries(Arr.groupBy(steps, ({ attempt }) => attempt.delivery.endpoint.appId)).map(([appId, own]) =>
      sql.withTransaction(ofOneTenant(appId, own, of.settle))
    )
    return Effect.all(written, { discard: true })
  }
}

const ofDefaultEndpoint = { record: recordAttemptSql, settle: settleAttemptsSql }
const ofNamedEndpoint = { record: recordNamedAttemptSql, settle: settleNamedAttemptsSql }
