-- Who may use the operators' console, who is logged in, what waits for a second person, and what finds the entries of a float.

-- The people of the console. The token is known by its keyed HMAC only.
CREATE TABLE operators (
  name text PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9._-]{0,39}$'),
  role text NOT NULL CHECK (role IN ('viewer', 'support', 'approver', 'admin')),
  token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
  created_at timestamptz NOT NULL
);

-- One row a browser that is logged in, known by the keyed HMAC of its cookie. It goes with its operator.
CREATE TABLE console_sessions (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  operator text NOT NULL REFERENCES operators ON DELETE CASCADE,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL
);
-- Finds an operator's own when the operator is removed.
CREATE INDEX console_sessions_of_operator ON console_sessions (operator);

-- Wrong tokens: one row a name or an address that had one lately.
CREATE TABLE console_failures (
  subject text PRIMARY KEY,
  failures int NOT NULL CHECK (failures > 0),
  since timestamptz NOT NULL
);

-- What one person proposed and another has to approve. A row is never changed after it was carried out or refused.
CREATE TABLE console_proposals (
  id text PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('review resolve', 'float credit', 'float debit', 'key issue', 'key revoke')),
  -- What it is about: the reference of a transaction, TENANT/MODE/EXTERNAL_ID of an adjustment, TENANT/KEY_ID of a key.
  subject text NOT NULL,
  -- A JSON object; never a secret, never a full number.
  details text NOT NULL,
  proposed_by text NOT NULL,
  proposed_at timestamptz NOT NULL,
  -- open: it waits; approved: another person said yes, and it is still to be carried out; done, failed: written in the commit of what was
  -- done, which holds this row's lock, so that it is done once; rejected, withdrawn: it is over.
  status text NOT NULL CHECK (status IN ('open', 'approved', 'done', 'failed', 'rejected', 'withdrawn')),
  decided_by text,
  decided_at timestamptz,
  -- Why it was rejected, or why it failed.
  note text NOT NULL DEFAULT '',
  CONSTRAINT decided_once CHECK ((status = 'open') = (decided_by IS NULL) AND (decided_by IS NULL) = (decided_at IS NULL)),
  -- The rule of two people holds whatever a program does.
  CONSTRAINT two_people CHECK (decided_by IS NULL OR (status = 'withdrawn') = (decided_by = proposed_by))
);
-- One open proposal about one thing: a second is refused while the first waits. One that was approved by a process that then died does not
-- count: it is carried out later or, where somebody did it anew meanwhile, fails.
CREATE UNIQUE INDEX console_proposals_open ON console_proposals (subject) WHERE status = 'open';
-- The list, the newest first.
CREATE INDEX console_proposals_by_time ON console_proposals (proposed_at, id);

-- The entries of a span of time, whosever they are: for those of one float, the newest first. It is an index of ages, as transactions have
-- one, and costs a payment nothing; one by float would cost it two entries.
CREATE INDEX journal_by_age ON journal USING brin (at) WITH (pages_per_range = 32, autosummarize = on);
-- Finds what an entry by hand is called outside.
CREATE INDEX float_adjustments_by_reference ON float_adjustments (app_id, reference);
