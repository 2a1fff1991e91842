export const name = "0007_code_flow"

/**
 * Who is being charged, and the codes of charges that wait for one. Locks: charge_codes comes before everything of 0001; payer_locks
 * comes after tenants and before the counters and positions.
 */
export const sql = `
-- The newest charge that was placed for a number. The row is there before a charge is opened, so that there is something to lock.
CREATE TABLE payer_locks (
  app_id text NOT NULL,
  mode text NOT NULL,
  party_hash bytea NOT NULL,
  reference text,
  at timestamptz NOT NULL,
  PRIMARY KEY (app_id, mode, party_hash)
);

INSERT INTO payer_locks (app_id, mode, party_hash, reference, at)
SELECT DISTINCT ON (app_id, mode, party_hash) app_id, mode, party_hash, reference, created_at FROM transactions
WHERE kind = 'collection' AND party_hash IS NOT NULL AND status IN ('pending', 'requires_action')
ORDER BY app_id, mode, party_hash, created_at DESC;

-- What was tried on a charge that waits for a code; never the code itself.
CREATE TABLE charge_codes (
  app_id text NOT NULL,
  reference text NOT NULL,
  -- Keyed hashes of the codes that were wrong.
  wrong bytea[] NOT NULL DEFAULT '{}',
  -- A code went to the provider and was not answered wrong: a charge may have been placed.
  sent boolean NOT NULL DEFAULT false,
  -- The window passed with no code on its way: none can be sent any more.
  closed boolean NOT NULL DEFAULT false,
  lease_until timestamptz,
  PRIMARY KEY (app_id, reference)
);

-- When codes were sent by hand to a number, inside the window that they are counted in.
CREATE TABLE code_requests (
  app_id text NOT NULL,
  mode text NOT NULL,
  party_hash bytea NOT NULL,
  sent timestamptz[] NOT NULL,
  PRIMARY KEY (app_id, mode, party_hash)
);
`
