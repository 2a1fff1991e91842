import { Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { Reference } from "../../domain/Ids.ts"
import { bucketOfReference } from "../../domain/ReferenceBucket.ts"
import { referenceHash, Vault } from "../../services/ports/Vault.ts"
import { Distribution } from "../connection/Distribution.ts"
import { OnTenantServer } from "../connection/ServerSlots.ts"
import { ofAll, ofNobody, ofTenants, type TenantFilter } from "../connection/TenantFilter.ts"
import { EveryTenant } from "./EveryTenant.ts"

/** How many references are cached with their tenants. A reference's tenant never changes. */
const KNOWN_AT_MOST = 20_000

interface Owner {
  /** Restricts a statement to these tenants. */
  readonly of: TenantFilter
  /** Wraps a statement about their rows, or a transaction. */
  readonly within: ReturnType<OnTenantServer>
}
export type ReferenceOwner = (reference: Reference) => Effect.Effect<Owner>

type Owned = { readonly app_id: string }

/**
 * Restricts a statement about one reference to the tenant that has it. On plain PostgreSQL the reference alone finds its row,
 * and the filter is empty. On Citus the reference's bucket gives the tenants that may have it, which costs a query to one
 * server; when none of them has it, every server is queried. Dies when the server that may have it does not answer, because
 * that differs from an absent record.
 */
export const makeReferenceOwner: Effect.Effect<
  ReferenceOwner,
  never,
  SqlClient.SqlClient | Distribution | EveryTenant | Vault | Scope.Scope
> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const everyTenant = yield* EveryTenant
  const hash = referenceHash(yield* Vault)
  const anybody = Effect.succeed<Owner>({ of: ofAll(sql), within: (statement) => statement })
  if (!(yield* Distribution).isDistributed) return () => anybody

  const onTenantServer = yield* OnTenantServer
  const known = new Map<Reference, string>()
  const remember = (reference: Reference, appId: string) => {
    for (const oldest of known.size < KNOWN_AT_MOST ? [] : known.keys().take(1)) known.delete(oldest)
    known.set(reference, appId)
  }

  const ofBucket = Effect.fnUntraced(function* (reference: Reference) {
    const candidates = yield* sql<Owned>`SELECT app_id FROM tenant_directory WHERE bucket = ${bucketOfReference(hash, reference)}`
    for (const { app_id } of candidates) {
      const rows = yield* onTenantServer(app_id)(
        sql`SELECT 1 FROM transactions WHERE app_id = ${app_id} AND reference = ${reference}`
      )
      if (rows.length > 0) return app_id
    }
    return undefined
  })

  const anywhere = Effect.fnUntraced(function* (reference: Reference) {
    const { isWhole, rows } = yield* everyTenant.find(
      (of) => sql<Owned>`SELECT app_id FROM transactions WHERE reference = ${reference} ${of("app_id")}`
    )
    const [found] = rows
    if (found !== undefined) return found.app_id
    return isWhole ? undefined : yield* Effect.die(new Error(`${NOT_WHOLE}: whether there is a ${reference} cannot be said now`))
  })

  const nobody: Owner = { of: ofNobody(sql), within: (statement) => statement }
  return Effect.fnUntraced(function* (reference: Reference) {
    const owner = known.get(reference) ?? (yield* ofBucket(reference)) ?? (yield* anywhere(reference))
    if (owner === undefined) return nobody
    remember(reference, owner)
    return { of: ofTenants(sql, [owner]), within: onTenantServer(owner) }
  }, Effect.orDie)
})

/** The beginning of the message when part of the database is missing from an answer. */
export const NOT_WHOLE = "a database server does not answer"
