import * as PgTypes from "@effect/sql-pg/PgTypes"
import { Effect, Result, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { Tenant } from "../../domain/Tenant.ts"
import type { ClaimRequest } from "../../services/ports/Idempotency.ts"

/** A request that claims a key, at its moment. */
export interface Arrival extends ClaimRequest {
  readonly now: Instant
  readonly leaseUntil: Instant
}

const PARAMETERS = 14

const parametersFrom = (first: number) => Array.from({ length: PARAMETERS }, (_, at) => `$${at + first}`).join(", ")
const columns =
  "nonce_fresh, fence, same, state, leased, reference, answer_status, answer_body, used, tenant_status AS status, capabilities"

const statement = `SELECT ${columns} FROM arrive_requests(${parametersFrom(1)}) ORDER BY ord`
/** The same on Citus, where all requests are of one tenant. */
const statementOfTenant = `SELECT ${columns} FROM arrive_requests_of_tenant(coalesce($1, ''), ${parametersFrom(2)}) ORDER BY ord`

/** What became of one request. Of a key that was claimed only the fence is there; of one that was taken all but the fence. */
const ArrivedRow = Schema.Struct({
  nonce_fresh: Schema.Boolean,
  fence: Schema.NullOr(Schema.BigInt),
  same: Schema.NullOr(Schema.Boolean),
  state: Schema.NullOr(Schema.Literals(["claimed", "pinned", "done"])),
  leased: Schema.NullOr(Schema.Boolean),
  reference: Schema.NullOr(Reference),
  answer_status: Schema.NullOr(Schema.Number),
  answer_body: Schema.NullOr(Schema.String),
  /** Of each window; null for one that did not exist. */
  used: Schema.NullOr(Schema.Array(Schema.NullOr(Schema.BigInt))),
  /** Null where there is no such tenant. */
  status: Schema.NullOr(Tenant.fields.status),
  capabilities: Schema.NullOr(Tenant.fields.capabilities)
})
export type ArrivedRow = typeof ArrivedRow.Type

const decodeRows = Schema.decodeUnknownEffect(Schema.Array(ArrivedRow))

/** One statement and one commit for all of them; one row a request, in their order. See the function's own text for what it does. */
export const arriveTogether = (sql: SqlClient.SqlClient, isDistributed: boolean) => (arrivals: ReadonlyArray<Arrival>) => {
  const windows = arrivals.flatMap((arrival) => arrival.windows)
  let end = 0
  const ends = arrivals.map((arrival) => (end += arrival.windows.length))
  const parameters = [
    texts(arrivals, ({ scope }) => scope.appId),
    texts(arrivals, ({ nonce }) => nonce.caller.keyId),
    texts(arrivals, ({ nonce }) => nonce.nonce),
    moments(arrivals, ({ nonce }) => nonce.expiresAt),
    texts(arrivals, ({ scope }) => scope.mode),
    texts(arrivals, ({ scope }) => scope.endpoint),
    texts(arrivals, ({ scope }) => scope.key),
    arrayOf(
      arrivals.map(({ fingerprint }) => fingerprint),
      PgTypes.OID.bytea
    ),
    moments(arrivals, ({ now }) => now),
    moments(arrivals, ({ leaseUntil }) => leaseUntil),
    arrayOf(ends, PgTypes.OID.int4),
    texts(windows, ({ name }) => name),
    texts(windows, ({ subject }) => subject),
    moments(windows, ({ startsAt }) => startsAt)
  ]
  const answered = isDistributed
    ? sql.unsafe(statementOfTenant, [arrivals[0]?.scope.appId ?? "", ...parameters])
    : sql.unsafe(statement, parameters)
  return Effect.flatMap(answered, decodeRows)
}

const arrayOf = (values: ReadonlyArray<unknown>, type: number) => Result.getOrThrow(PgTypes.array(values, type))
const texts = <Row>(rows: ReadonlyArray<Row>, of: (row: Row) => string) => arrayOf(rows.map(of), PgTypes.OID.text)
const moments = <Row>(rows: ReadonlyArray<Row>, of: (row: Row) => Instant) => arrayOf(rows.map(of), PgTypes.OID.timestamptz)
