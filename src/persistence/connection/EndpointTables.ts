import type { SqlClient } from "effect/sql"
import type { Mode } from "../../domain/Ids.ts"
import { DEFAULT_ENDPOINT, type EndpointName, queueOf } from "../../domain/WebhookEndpoint.ts"

// The previous release knows the tables of `default`. Others have twin tables (0050_named_endpoints), with `queue` for the mode.

/** Turns a statement about `default` into one about named endpoints. */
export const ofNamedEndpoints = (text: string): string =>
  text
    .replaceAll(/\b(deliveries|due_deliveries)\b/g, "named_$1")
    .replaceAll(/\bwebhook_(endpoints|flights)\b/g, "named_$1")
    .replaceAll(/\brecord_attempts\b/g, "record_named_attempts")
    .replaceAll(/\bmode\b/g, "queue")

/** The tables of an endpoint, and how to find its rows there: column `key` equals `queue`. */
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
