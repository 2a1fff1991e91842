import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { AccountClaims } from "../../services/ports/AccountClaims.ts"
import { rowsOf } from "../connection/Rows.ts"

const claims = rowsOf(Schema.Struct({ fingerprints: Schema.Array(Schema.String) }))

/** AccountClaims on PostgreSQL. It owns account_claims, one row per provider and mode, which is written once. */
export const AccountClaimsPg = layerOf(AccountClaims)(function* () {
  const sql = yield* SqlClient.SqlClient

  const claim: AccountClaims["Service"]["claim"] = Effect.fn("AccountClaims.claim")(function* (provider, mode, fingerprints) {
    const kept = claims(sql`SELECT fingerprints FROM account_claims WHERE provider = ${provider} AND mode = ${mode}`)
    const [found] = yield* kept
    if (found !== undefined) return found.fingerprints
    yield* Effect.orDie(sql`INSERT INTO account_claims (provider, mode, fingerprints) VALUES (${provider}, ${mode}, ${fingerprints}::text[])
      ON CONFLICT (provider, mode) DO NOTHING`)
    const [first] = yield* kept
    return first === undefined ? yield* Effect.die(new Error(`no account of ${provider} was claimed`)) : first.fingerprints
  })

  return { claim }
})
