-- What an endpoint is subscribed to, with the event types that the release before does not know. That release reads and writes `events`,
-- which holds its own words only; `subscription` counts as long as `events` is what it was set beside. The word of the test event stands
-- for newer events in `events.type`, so it leaves the lists that it stood in: a test is sent to every endpoint anyway.

ALTER TABLE webhook_endpoints ADD COLUMN subscription text[], ADD COLUMN subscription_beside text[];
