export const name = "0024_newer_event_types"

/**
 * What an endpoint is subscribed to, with the event types that the release before does not know. That release reads and writes `events`, which
 * holds its own words only; `subscription` counts as long as `events` is what it was set beside. The word of the test event stands for newer
 * events in `events.type`, so it leaves the lists that it stood in: a test is sent to every endpoint anyway.
 */
export const steps = [
  {
    form: "transaction",
    sql: `
ALTER TABLE webhook_endpoints ADD COLUMN subscription text[], ADD COLUMN subscription_beside text[];
`
  },
  {
    form: "batches",
    sql: `
WITH page AS MATERIALIZED (
  SELECT app_id, mode, app_id || '/' || mode AS place FROM webhook_endpoints
  WHERE 'webhook.test' = ANY (events) AND $1::text IS NOT NULL ORDER BY app_id, mode LIMIT 500
),
changed AS (
  UPDATE webhook_endpoints w SET subscription = w.events, events = array_remove(w.events, 'webhook.test'),
    subscription_beside = array_remove(w.events, 'webhook.test')
  FROM page p WHERE w.app_id = p.app_id AND w.mode = p.mode AND 'webhook.test' = ANY (w.events)
)
SELECT max(place) AS reached FROM page
`
  }
] as const
