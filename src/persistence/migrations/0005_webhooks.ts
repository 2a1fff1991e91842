export const name = "0005_webhooks"

/** What tenants see of their own webhooks, and what keeps them bounded: why an endpoint was disabled, lists, recovery, removal. */
export const sql = `
-- Since when nothing but failures came back; a success empties it.
ALTER TABLE webhook_endpoints ADD COLUMN failing_since timestamptz;
-- Null while it is enabled, and where its owner disabled it.
ALTER TABLE webhook_endpoints ADD COLUMN disabled_reason text CHECK (disabled_reason IN ('gone', 'failing'));

CREATE INDEX deliveries_listed ON deliveries (app_id, mode, created_at, id);
CREATE INDEX deliveries_parked ON deliveries (app_id, mode, created_at, id) WHERE status = 'parked';
CREATE INDEX deliveries_of_event ON deliveries (app_id, event_id);

-- A tenant's events in their order, for recovery; everybody's by age, for removal.
CREATE INDEX events_of_tenant ON events (app_id, mode, created_at, id);
CREATE INDEX events_by_age ON events (created_at, id);

CREATE INDEX provider_inbox_listed ON provider_inbox (received_at, id);
CREATE INDEX provider_inbox_parked ON provider_inbox (received_at, id) WHERE status = 'parked';
`
