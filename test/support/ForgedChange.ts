import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** A change of who may do what as somebody makes it who has the password of the gateways' role, and no key: the hashes of its audit row are made up. */
export const forgedChange = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  change: string,
  to: Readonly<Record<string, unknown>>
) {
  const [head] = yield* sql<{ sequence: bigint }>`SELECT sequence FROM audit_head`
  const [row] = yield* sql<{ changed: boolean }>`SELECT change_access(${change}, ${JSON.stringify(to)}::json,
    ${(head?.sequence ?? 0n) + 1n}, now(), 'operator', ${change}, 'somebody', '{}', sha256(''), sha256('')) AS changed`
  return row?.changed === true
})
