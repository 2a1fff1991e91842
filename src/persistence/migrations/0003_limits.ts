export const name = "0003_limits"

/** What limits how much moves in a window of time, who is refused, and whom a tenant has paid before. */
export const sql = `
-- One row a window: how much of it is used. app_id is '' for what all tenants share (a provider account's ceiling).
CREATE TABLE counters (
  app_id text NOT NULL,
  mode text NOT NULL,
  name text NOT NULL,
  -- The keyed HMAC of a number, in hex; '' where the window is the tenant's own.
  subject text NOT NULL,
  starts_at timestamptz NOT NULL,
  used bigint NOT NULL DEFAULT 0 CHECK (used >= 0),
  PRIMARY KEY (app_id, mode, name, subject, starts_at)
);
CREATE INDEX counters_by_age ON counters (starts_at);

-- What a transaction was counted in, so that a failed payout is given back to exactly those windows.
ALTER TABLE transactions ADD COLUMN counted json NOT NULL DEFAULT '[]';

-- The recipient of a payout, masked, until the provider accepts it and it becomes a beneficiary.
ALTER TABLE transactions ADD COLUMN beneficiary json;

-- A tenant's own limits; where there is none the defaults of the program hold.
CREATE TABLE limits (
  app_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  direction text NOT NULL CHECK (direction IN ('payout', 'collection')),
  window_name text NOT NULL CHECK (window_name IN ('hour', 'day', 'destination', 'destination_day')),
  count bigint NOT NULL CHECK (count >= 0),
  PRIMARY KEY (app_id, mode, direction, window_name)
);

-- What one provider account may pay out in a currency on one UTC day, fees included; off where there is no row.
CREATE TABLE ceilings (
  provider text NOT NULL,
  currency text NOT NULL,
  amount_minor bigint NOT NULL CHECK (amount_minor >= 0),
  PRIMARY KEY (provider, currency)
);

-- Numbers and names that are refused, as keyed HMACs; what was typed is nowhere.
CREATE TABLE denials (
  kind text NOT NULL CHECK (kind IN ('destination', 'screened_number', 'screened_name')),
  hash bytea NOT NULL,
  masked text NOT NULL,
  reason text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (kind, hash)
);

-- Recipients that a tenant has paid, masked; one row a recipient and mode.
CREATE TABLE beneficiaries (
  app_id text NOT NULL,
  id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  party_hash bytea NOT NULL,
  type text NOT NULL,
  country text NOT NULL,
  currency text NOT NULL,
  network text,
  bank_code text,
  bank_name text,
  account_name text,
  masked_destination text NOT NULL,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, id)
);
CREATE UNIQUE INDEX beneficiaries_by_party ON beneficiaries (app_id, mode, party_hash);
CREATE INDEX beneficiaries_by_use ON beneficiaries (app_id, mode, created_at DESC, id DESC);

-- Which steps of a batch fit, as if they had come one after another in the order given. A need takes an amount of a resource
-- (a position, a window) of which it may not use more than its bound; a step takes all of its needs or none. The needs are sorted
-- by step and, within a step, by the order of refusals; used holds what is taken of each resource before the batch.
CREATE FUNCTION fold_needs(used bigint[], steps int[], resources int[], amounts bigint[], bounds bigint[])
RETURNS TABLE (step int, failed int, remaining bigint) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  first int := 1;
  last int;
  i int;
  total int := coalesce(array_length(steps, 1), 0);
BEGIN
  WHILE first <= total LOOP
    last := first;
    WHILE last < total AND steps[last + 1] = steps[first] LOOP last := last + 1; END LOOP;
    step := steps[first];
    failed := NULL;
    remaining := NULL;
    FOR i IN first..last LOOP
      IF used[resources[i]] + amounts[i] > bounds[i] THEN
        failed := i;
        remaining := bounds[i] - used[resources[i]];
        EXIT;
      END IF;
    END LOOP;
    IF failed IS NULL THEN
      FOR i IN first..last LOOP used[resources[i]] := used[resources[i]] + amounts[i]; END LOOP;
    END IF;
    RETURN NEXT;
    first := last + 1;
  END LOOP;
END
$$;
`
