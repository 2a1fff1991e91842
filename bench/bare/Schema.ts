/** What such a service keeps. */
export const schema = `
CREATE TABLE nonces (
  app_id text NOT NULL, key_id text NOT NULL, nonce text NOT NULL, expires_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, key_id, nonce)
);
CREATE TABLE idempotency_keys (
  app_id text NOT NULL, key text NOT NULL, fingerprint text NOT NULL, reference text,
  answer_status int, answer_body text, created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (app_id, key)
);
CREATE TABLE floats (
  app_id text NOT NULL, currency text NOT NULL,
  available_minor bigint NOT NULL CHECK (available_minor >= 0), reserved_minor bigint NOT NULL CHECK (reserved_minor >= 0),
  PRIMARY KEY (app_id, currency)
);
CREATE TABLE transactions (
  app_id text NOT NULL, reference text NOT NULL, status text NOT NULL, provider_reference text, record json NOT NULL,
  created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, reference)
);
CREATE TABLE postings (
  app_id text NOT NULL, reference text NOT NULL, phase text NOT NULL, account text NOT NULL, currency text NOT NULL,
  amount_minor bigint NOT NULL,
  PRIMARY KEY (app_id, reference, phase, account)
);
CREATE TABLE history (
  app_id text NOT NULL, reference text NOT NULL, line bigint GENERATED ALWAYS AS IDENTITY, at timestamptz NOT NULL,
  fact text NOT NULL, status text NOT NULL,
  PRIMARY KEY (app_id, reference, line)
);
CREATE TABLE events (
  app_id text NOT NULL, id text NOT NULL, type text NOT NULL, reference text NOT NULL, body text NOT NULL,
  created_at timestamptz NOT NULL, delivered_at timestamptz,
  PRIMARY KEY (app_id, id)
)`
