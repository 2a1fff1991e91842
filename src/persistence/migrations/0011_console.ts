export const name = "0011_console"

/** Who may use the operators' console, who is logged in, and what waits for a second person. */
export const sql = `
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
  kind text NOT NULL CHECK (kind = 'review resolve'),
  -- What it is about: the reference of a transaction.
  subject text NOT NULL,
  -- A JSON object; never a secret, never a full number.
  details text NOT NULL,
  proposed_by text NOT NULL,
  proposed_at timestamptz NOT NULL,
  -- open: it waits; approved: another person said yes, and it is carried out, once more where the process died meanwhile; done, failed, rejected, withdrawn: it is over.
  status text NOT NULL CHECK (status IN ('open', 'approved', 'done', 'failed', 'rejected', 'withdrawn')),
  decided_by text,
  decided_at timestamptz,
  -- Why it was rejected, or why it failed.
  note text NOT NULL DEFAULT '',
  CONSTRAINT decided_once CHECK ((status = 'open') = (decided_by IS NULL) AND (decided_by IS NULL) = (decided_at IS NULL)),
  -- The rule of two people holds whatever a program does.
  CONSTRAINT two_people CHECK (decided_by IS NULL OR (status = 'withdrawn') = (decided_by = proposed_by))
);
-- One open proposal about one transaction: a second is refused while the first waits. One that was approved by a process that then died
-- does not count: it is carried out again or, where somebody ruled anew meanwhile, fails because the record is at another revision.
CREATE UNIQUE INDEX console_proposals_open ON console_proposals (subject) WHERE status = 'open';
-- The list, the newest first.
CREATE INDEX console_proposals_by_time ON console_proposals (proposed_at, id);
`
