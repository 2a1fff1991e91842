-- What providers can do, how much may leave one account of theirs, and what they call back with.

-- One row a country, currency, direction and method that can be asked for.
CREATE TABLE corridors (
  country text NOT NULL CHECK (country ~ '^[A-Z]{2}$'),
  currency text NOT NULL,
  direction text NOT NULL CHECK (direction IN ('collection', 'payout')),
  method text NOT NULL CHECK (method IN ('momo', 'bank', 'card', 'wallet')),
  active boolean NOT NULL,
  networks text[] NOT NULL,
  minimum_minor bigint CHECK (minimum_minor >= 0),
  maximum_minor bigint CHECK (maximum_minor >= minimum_minor),
  customer_action text NOT NULL CHECK (customer_action IN ('none', 'handset_pin', 'otp', 'redirect')),
  requires_redirect_url boolean NOT NULL,
  requires_msisdn boolean NOT NULL,
  -- What a payout reaches from here, across currencies.
  destination_currencies text[] NOT NULL,
  availability text NOT NULL CHECK (availability IN ('operational', 'degraded', 'down')),
  inactive_reason text,
  updated_at timestamptz NOT NULL,
  -- Who serves it, in order.
  providers text[] NOT NULL CHECK (cardinality(providers) > 0),
  PRIMARY KEY (country, currency, direction, method)
);

-- Eversend exchanges on the way: a payout reaches the other countries where the same method is open.
INSERT INTO corridors (country, currency, direction, method, active, providers, networks, minimum_minor, maximum_minor, customer_action,
  requires_redirect_url, requires_msisdn, destination_currencies, availability, inactive_reason, updated_at)
SELECT c.country, c.currency, c.direction, c.method, c.active, ARRAY['eversend'],
  CASE WHEN c.method = 'momo' THEN n.networks ELSE '{}' END,
  c.minimum_minor, NULL,
  CASE
    WHEN c.direction = 'payout' THEN 'none'
    WHEN c.method = 'card' OR c.country = 'GH' THEN 'redirect'
    ELSE 'handset_pin'
  END,
  c.direction = 'collection' AND (c.method = 'card' OR c.country = 'GH'), false,
  CASE WHEN c.active AND c.direction = 'payout' THEN r.currencies ELSE ARRAY[c.currency] END,
  'operational', CASE WHEN c.active THEN NULL ELSE 'not enabled yet' END, now()
FROM (VALUES
  ('UG', 'UGX', 'collection', 'momo', true, NULL::bigint),
  ('UG', 'UGX', 'collection', 'card', false, NULL),
  ('UG', 'UGX', 'payout', 'momo', true, 500),
  ('UG', 'UGX', 'payout', 'bank', true, 10000),
  ('UG', 'UGX', 'payout', 'wallet', true, NULL),
  ('KE', 'KES', 'collection', 'momo', true, NULL),
  ('KE', 'KES', 'payout', 'momo', true, NULL),
  ('KE', 'KES', 'payout', 'bank', true, NULL),
  ('KE', 'KES', 'payout', 'wallet', true, NULL),
  ('RW', 'RWF', 'collection', 'momo', true, NULL),
  ('RW', 'RWF', 'payout', 'momo', true, NULL),
  ('RW', 'RWF', 'payout', 'wallet', true, NULL),
  ('GH', 'GHS', 'collection', 'momo', true, NULL),
  ('GH', 'GHS', 'payout', 'momo', true, NULL),
  ('GH', 'GHS', 'payout', 'bank', true, NULL),
  ('GH', 'GHS', 'payout', 'wallet', true, NULL),
  ('NG', 'NGN', 'payout', 'bank', true, NULL),
  ('NG', 'NGN', 'payout', 'wallet', true, NULL),
  ('ZM', 'ZMW', 'payout', 'momo', true, NULL),
  ('ZM', 'ZMW', 'collection', 'momo', false, NULL),
  ('TZ', 'TZS', 'payout', 'wallet', true, NULL),
  ('TZ', 'TZS', 'collection', 'momo', false, NULL),
  ('TZ', 'TZS', 'payout', 'momo', false, NULL),
  ('CM', 'XAF', 'collection', 'momo', false, NULL),
  ('CM', 'XAF', 'payout', 'momo', false, NULL),
  ('CI', 'XOF', 'collection', 'momo', false, NULL),
  ('CI', 'XOF', 'payout', 'momo', false, NULL),
  ('BF', 'XOF', 'collection', 'momo', false, NULL),
  ('BF', 'XOF', 'payout', 'momo', false, NULL)
) AS c(country, currency, direction, method, active, minimum_minor)
JOIN (VALUES
  ('UG', '{MTN,AIRTEL}'::text[]),
  ('KE', '{MPESA,AIRTEL}'),
  ('RW', '{MTN,AIRTEL}'),
  ('GH', '{MTN,TELECEL,AT}'),
  ('NG', '{}'),
  ('ZM', '{MTN,AIRTEL,ZAMTEL}'),
  ('TZ', '{MPESA,TIGO,AIRTEL,HALOTEL}'),
  ('CM', '{MTN,ORANGE}'),
  ('CI', '{MTN,ORANGE,MOOV,WAVE}'),
  ('BF', '{ORANGE,MOOV}')
) AS n(country, networks) ON n.country = c.country
LEFT JOIN (VALUES
  ('momo', '{UGX,KES,RWF,GHS,ZMW}'::text[]),
  ('bank', '{UGX,KES,GHS,NGN}'),
  ('wallet', '{UGX,KES,RWF,GHS,NGN,TZS}')
) AS r(method, currencies) ON r.method = c.method;

-- What one provider account may pay out in a currency on one UTC day, fees included; off where there is no row.
CREATE TABLE ceilings (
  provider text NOT NULL,
  currency text NOT NULL,
  amount_minor bigint NOT NULL CHECK (amount_minor >= 0),
  PRIMARY KEY (provider, currency)
);

-- Callbacks, before anybody knows whose they are. The id is made of the provider, the mode and the digest: the same bytes are one row, at
-- whatever time they come. That is why it is not divided by months: a unique key of a divided table would have to contain the time.
CREATE TABLE provider_inbox (
  id text PRIMARY KEY,
  provider text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  digest bytea NOT NULL CHECK (octet_length(digest) = 32),
  received_at timestamptz NOT NULL,
  reference text,
  provider_reference text,
  status text NOT NULL CHECK (status IN ('due', 'done', 'parked')),
  next_look_at timestamptz,
  matched_reference text,
  CHECK ((status = 'due') = (next_look_at IS NOT NULL))
);
-- What is to be looked into next.
CREATE INDEX provider_inbox_due ON provider_inbox (next_look_at) WHERE status = 'due';
-- What waits for a person.
CREATE INDEX provider_inbox_parked ON provider_inbox (received_at, id) WHERE status = 'parked';
-- What was looked into, by age, for removal and for the operators' list; what is parked stays.
CREATE INDEX provider_inbox_done ON provider_inbox (received_at, id) WHERE status = 'done';
