import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { CommitSettings } from "../../services/ports/DatabaseState.ts"
import { DatabaseError } from "../connection/DatabaseError.ts"
import { rowsOf } from "../connection/Rows.ts"
import { forgetful, IS_THROWN_AWAY, WEAKNESS } from "../connection/servers/Durability.ts"
import { EveryTenant } from "./EveryTenant.ts"

const rows = rowsOf(CommitSettings)

const IN_FORCE = `host(inet_server_addr()) || ':' || inet_server_port() AS server, current_setting('synchronous_commit') AS "synchronousCommit",
  current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites", ${WEAKNESS} AS weakness,
  ${IS_THROWN_AWAY} AS "isThrownAway"`

/**
 * The settings in force where tenants' rows are committed: in a session of ours, and on Citus also in one on each server with
 * tenants, as the coordinator opens it there. A server that does not answer is left out.
 */
export const readCommitSettings = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, everyTenant: EveryTenant["Service"]) {
  const own = yield* rows(sql`SELECT ${sql.literal(IN_FORCE)}`)
  const others = yield* everyTenant.read((of) =>
    rows(sql`SELECT ${sql.literal(IN_FORCE)} FROM tenants WHERE true ${of("app_id")} LIMIT 1`)
  )
  const servers = new Map([...own, ...others.rows].map((row) => [row.server, row]))
  return [...servers.values()]
})

/** Why a gateway must not start, in one line: some server would not keep commits after a crash. Ours has been checked before. */
export const commitsObstacle = Effect.gen(function* () {
  return forgetfulServers(yield* readCommitSettings(yield* SqlClient.SqlClient, yield* EveryTenant))
}).pipe(DatabaseError.explain("look at the database's servers"))

export const forgetfulServers = (all: ReadonlyArray<CommitSettings>): string | null => {
  const weak = all.flatMap(({ isThrownAway, server, weakness }) =>
    weakness === null || isThrownAway ? [] : [`${server}: ${forgetful(weakness)}`]
  )
  return weak.length === 0 ? null : weak.join("; ")
}
