import { ofNamedEndpoints } from "../../connection/EndpointTables.ts"
import { subscriptionSql, typeSql } from "../../transactions/NewerEventTypes.ts"
import type { LedgerRule } from "../LedgerRule.ts"

/** A schedule waits a day at most, and a lease lasts a minute: a longer wait was written by hand. */
const notDue = `
  SELECT c.subject, c.found FROM (
    SELECT coalesce(d.app_id || '/' || d.id, q.app_id || '/' || q.id) AS subject, CASE
      WHEN d.id IS NULL THEN 'it waits to be delivered, and is not due'
      WHEN q.next_attempt_at IS DISTINCT FROM d.next_attempt_at OR q.created_at <> d.created_at THEN 'it is due, and does not wait to be delivered'
      WHEN d.next_attempt_at > greatest(now(), d.created_at) + interval '30 days' THEN 'nobody will deliver it before ' || d.next_attempt_at
      WHEN f.leased_until[array_position(f.ids, d.id)] > greatest(now(), d.next_attempt_at) + interval '1 day'
        THEN 'a lease keeps everybody from delivering it until ' || f.leased_until[array_position(f.ids, d.id)]
    END AS found
    FROM (SELECT * FROM deliveries WHERE status = 'due') d
    FULL JOIN due_deliveries q ON q.app_id = d.app_id AND q.mode = d.mode AND q.id = d.id
    LEFT JOIN webhook_flights f ON f.app_id = d.app_id AND f.mode = d.mode
  ) AS c
  WHERE c.found IS NOT NULL`

/**
 * A number at the top level of an event's data. It is read from the text, because an altered event may not be JSON. In JSON a
 * quotation mark inside a text has a backslash before it, and all names that tenants choose are inside further braces or after
 * the amounts.
 */
const saidBy = (event: string, member: string): string => `substring(${event}.body FROM '"data":[{][^{}]*"${member}":"?([0-9]+)')`

/** Every outcome has its event, and every event its delivery. */
export const eventRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "outcomes_were_told",
    counted: "SELECT count(*) FROM transactions WHERE status IN ('successful', 'failed', 'expired')",
    broken: `
      SELECT t.app_id || '/' || t.reference AS subject, 'no event ' || t.type AS found
      FROM (SELECT *, CASE kind WHEN 'exchange' THEN 'fx' ELSE kind END || '.' || status AS type FROM transactions) t
      WHERE t.status IN ('successful', 'failed', 'expired')
        -- Events have their time; an hour is for clocks that differ.
        AND coalesce(to_timestamp((well_formed(t.record)->>'completedAt')::float8 / 1000), t.created_at) - interval '1 hour' >= (SELECT since FROM events_kept)
        AND NOT EXISTS (SELECT 1 FROM events e WHERE e.app_id = t.app_id AND e.reference = t.reference AND e.type = t.type)`
  },
  {
    rule: "events_are_as_written",
    counted: "SELECT count(*) FROM events WHERE reference IS NOT NULL",
    // Its mode and time, by which lists and recoveries find it, are those of its step.
    broken: `
      WITH line AS (
        SELECT app_id, mode, reference, at, event_digest FROM journal WHERE event_digest IS NOT NULL
      ),
      event AS (
        SELECT app_id, mode, reference, id, type, created_at, event_digest(id, type, body) AS event_digest FROM events WHERE reference IS NOT NULL
      )
      SELECT coalesce(e.app_id, l.app_id) || '/' || coalesce(e.reference, l.reference) AS subject,
        CASE WHEN e.id IS NULL THEN 'the event of ' || l.at || ' is not there as it was'
          ELSE 'no step made the event ' || e.id || ' ' || e.type || ' in these bytes' END AS found
      FROM event e FULL JOIN line l ON l.app_id = e.app_id AND l.reference = e.reference AND l.event_digest = e.event_digest
        AND l.mode = e.mode AND l.at = e.created_at
      WHERE l.app_id IS NULL OR e.id IS NULL AND l.at >= (SELECT since FROM events_kept)`
  },
  {
    rule: "events_say_the_amount",
    counted: "SELECT count(*) FROM events WHERE reference IS NOT NULL",
    // A record keeps these for ever. The amount that an exchange yields may become known after an event, so it is compared with
    // the quote and the entry instead.
    broken: `
      SELECT e.app_id || '/' || e.reference AS subject,
        'its event ' || ${typeSql("e")} || ' says the ' || a.name || ' ' || a.said || ', its record ' || a.recorded AS found
      FROM events e JOIN transactions t ON t.app_id = e.app_id AND t.reference = e.reference
      CROSS JOIN LATERAL json_to_record(well_formed(t.record)) AS r(amount text, "destinationAmount" text)
      CROSS JOIN LATERAL (VALUES
        ('amount', ${saidBy("e", "(?:source_)?amount_minor")}, r.amount),
        ('destination amount', CASE t.kind WHEN 'payout' THEN ${saidBy("e", "destination_amount_minor")} END, r."destinationAmount")
      ) AS a(name, said, recorded)
      WHERE a.said <> a.recorded`
  },
  {
    rule: "deliveries_have_their_event",
    counted:
      "SELECT (SELECT count(*) FROM deliveries WHERE status <> 'delivered') + (SELECT count(*) FROM named_deliveries WHERE status <> 'delivered') AS count",
    broken: `
      SELECT d.app_id || '/' || d.id AS subject, 'a delivery that is ' || d.status || ', of an event that is not there' AS found
      FROM (SELECT app_id, id, event_id, mode, status FROM deliveries UNION ALL SELECT app_id, id, event_id, mode, status FROM named_deliveries) d
      LEFT JOIN events e ON e.app_id = d.app_id AND e.id = d.event_id AND e.mode = d.mode
      WHERE d.status <> 'delivered' AND e.id IS NULL`
  },
  {
    rule: "deliveries_come_due",
    counted:
      "SELECT (SELECT count(*) FROM deliveries WHERE status = 'due') + (SELECT count(*) FROM named_deliveries WHERE status = 'due') AS count",
    broken: `${notDue} UNION ALL ${ofNamedEndpoints(notDue)}`
  },
  {
    rule: "events_have_their_delivery",
    counted: "SELECT count(*) FROM events",
    // A test event is for one endpoint only. The endpoint's state when the event was written is known if it has not changed
    // since; the hour allows for clock differences.
    broken: `
      SELECT e.app_id || '/' || e.id AS subject, 'the endpoint wants ' || ${typeSql("e")} || ', and this one is not delivered to it' AS found
      FROM events e JOIN webhook_endpoints w ON w.app_id = e.app_id AND w.mode = e.mode
      LEFT JOIN deliveries d ON d.app_id = e.app_id AND d.id = e.id AND d.event_id = e.id
      WHERE d.id IS NULL AND w.enabled AND ${typeSql("e")} = ANY (${subscriptionSql("w.")}) AND ${typeSql("e")} <> 'webhook.test'
        AND e.created_at > w.updated_at + interval '1 hour'
      UNION ALL
      SELECT e.app_id || '/' || e.id, 'the endpoint ' || w.name || ' wants ' || ${typeSql("e")} || ', and this one is not delivered to it'
      FROM events e JOIN named_endpoints w ON w.app_id = e.app_id AND w.mode = e.mode
      LEFT JOIN named_deliveries d ON d.app_id = e.app_id AND d.event_id = e.id AND d.queue = w.queue
      WHERE d.id IS NULL AND w.enabled AND ${typeSql("e")} = ANY (w.events) AND ${typeSql("e")} <> 'webhook.test'
        AND e.created_at > w.updated_at + interval '1 hour'`
  }
]
