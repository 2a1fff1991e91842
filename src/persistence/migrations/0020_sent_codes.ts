export const name = "0020_sent_codes"

/** Whose codes were texted, and how many a tenant may have texted. */
export const sql = `
ALTER TABLE limits DROP CONSTRAINT limits_direction_check;
ALTER TABLE limits ADD CONSTRAINT limits_direction_check CHECK (direction IN ('payout', 'collection', 'code'));

-- A code is good for the tenant, the mode and the number that it was sent for, and for nobody else; the code itself is never stored.
CREATE TABLE sent_codes (
  app_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  -- The provider's handle of it.
  pin_id text NOT NULL,
  party_hash bytea NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (app_id, mode, pin_id)
);
CREATE INDEX sent_codes_by_age ON sent_codes (at);

-- Charges that wait for their code now go on with it.
INSERT INTO sent_codes (app_id, mode, pin_id, party_hash, at)
SELECT app_id, mode, record->'nextAction'->>'pinId', party_hash, created_at FROM transactions
WHERE kind = 'collection' AND status = 'requires_action' AND record->'nextAction'->>'pinId' IS NOT NULL AND party_hash IS NOT NULL
ON CONFLICT DO NOTHING;
`
