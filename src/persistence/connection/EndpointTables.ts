import type { SqlClient } from "effect/sql"
import type { Mode } from "../../domain/Ids.ts"
import { DEFAULT_ENDPOINT, type EndpointName, queueOf } from "../../domain/WebhookEndpoint.ts"

// The endpoint `default` lies in the tables that the release before knows, and every other in their twins (0050_named_endpoints), which have
// `queue` where those have the mode.

/** The text of a statement about `default` as one about the endpoints that have a name. */
export const ofNamedEndpoints = (text: string): string =>
  text
    .replaceAll(/\b(deliveries|due_deliveries)\b/g, "named_$1")
    .replaceAll(/\bwebhook_(endpoints|flights)\b/g, "named_$1")
    .replaceAll(/\brecord_attempts\b/g, "record_named_attempts")
    .replaceAll(/\bmode\b/g, "queue")

/** The tables of an endpoint, and how its rows are found there: those whose column `key` is `queue`. */
export const endpointTables = (sql: SqlClient.SqlClient, mode: Mode, name: EndpointName) => {
  const isNamed = name !== DEFAULT_ENDPOINT
  const table = (text: string) => sql.literal(isNamed ? ofNamedEndpoints(text) : text)
  return {
    isNamed,
    endpoints: table("webhook_endpoints"),
    deliveries: table("deliveries"),
    due: table("due_deliveries"),
    key: table("mode"),
    queue: queueOf(mode, name)
  }
}
export type EndpointTables = ReturnType<typeof endpointTables>
