/**
 * Leases deliveries that are due: $1 is now, $2 how many, $3 how many of one endpoint at a time, $4 until when.
 *
 * What is locked is not found as one of those that are due, of which a tenant may have very many: the index of these looks as cheap as the key
 * while it is young. The columns of a limit stand in it as they are, so that it is planned anew each time: a plan of a time when nothing was due
 * would read all that is.
 */
export const claimStatement = `
WITH RECURSIVE owed AS (
  -- Whom anything waits for, each found from the one before it: endpoints that wait for nothing cost nothing, however many there are.
  (SELECT d.app_id, d.mode FROM deliveries d WHERE d.status = 'due' ORDER BY d.app_id, d.mode LIMIT 1)
  UNION ALL
  SELECT next.app_id, next.mode FROM owed o CROSS JOIN LATERAL (
    SELECT d.app_id, d.mode FROM deliveries d WHERE d.status = 'due' AND (d.app_id, d.mode) > (o.app_id, o.mode)
    ORDER BY d.app_id, d.mode LIMIT 1
  ) next
),
turn AS (
  -- Each endpoint's oldest, as many as it may still have in flight.
  SELECT e.app_id, e.mode, waiting.id, waiting.created_at, waiting.place, waiting.next_attempt_at
  FROM owed o
  JOIN webhook_endpoints e ON e.app_id = o.app_id AND e.mode = o.mode
  CROSS JOIN LATERAL (
    SELECT d.id, d.created_at, d.next_attempt_at, row_number() OVER (ORDER BY d.next_attempt_at) AS place
    FROM deliveries d
    WHERE d.app_id = e.app_id AND d.mode = e.mode AND d.status = 'due' AND d.next_attempt_at <= $1::timestamptz
      AND (d.lease_until IS NULL OR d.lease_until <= $1::timestamptz)
    ORDER BY d.next_attempt_at
    LIMIT greatest(0, $3::int - (
      SELECT count(*) FROM deliveries f
      WHERE f.app_id = e.app_id AND f.mode = e.mode AND f.status = 'due' AND f.lease_until > $1::timestamptz))
  ) waiting
  WHERE e.enabled
),
chosen AS MATERIALIZED (
  -- Every endpoint's first comes before anybody's second, so that a long queue delays nobody else.
  SELECT app_id, id, created_at, place, next_attempt_at FROM turn ORDER BY place, next_attempt_at, app_id, id LIMIT $2
),
locked AS MATERIALIZED (
  SELECT c.app_id, c.id, c.created_at, c.place, c.next_attempt_at
  FROM chosen c
  CROSS JOIN LATERAL (
    SELECT d.id FROM deliveries d
    WHERE d.app_id = c.app_id AND d.id = c.id AND d.created_at = c.created_at AND d.status NOT IN ('delivered', 'parked')
    FOR UPDATE SKIP LOCKED
  ) d
),
leased AS (
  UPDATE deliveries d SET lease_until = $4::timestamptz
  FROM locked l WHERE d.app_id = l.app_id AND d.id = l.id AND d.created_at = l.created_at
  RETURNING d.app_id, d.mode, d.id, d.event_id, d.attempts, d.created_at, l.place, l.next_attempt_at
)
SELECT l.id, l.event_id AS "eventId", v.type AS "eventType", v.body, l.attempts, l.created_at AS "createdAt", t.traceparent,
  e.app_id AS "appId", e.mode, e.url, e.secret_sealed AS "secretSealed",
  CASE WHEN e.previous_until > $1::timestamptz THEN e.previous_secret_sealed END AS "previousSealed"
FROM leased l
JOIN webhook_endpoints e ON e.app_id = l.app_id AND e.mode = l.mode
-- No event is newer than what delivers it.
JOIN events v ON v.app_id = l.app_id AND v.id = l.event_id AND v.created_at <= l.created_at
LEFT JOIN transactions t ON t.app_id = v.app_id AND t.reference = v.reference
ORDER BY l.place, l.next_attempt_at, l.app_id, l.id`
