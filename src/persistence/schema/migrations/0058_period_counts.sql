-- What ended, and what came, in periods of five minutes, for charts: no history is read for them. It names no tenant and no transaction. A
-- process writes its own rows alone, each with the whole count. The release before neither writes nor reads it.
CREATE TABLE period_counts (
  period_start timestamptz NOT NULL,
  what text NOT NULL,
  mode text NOT NULL,
  provider text NOT NULL,
  corridor text NOT NULL,
  outcome text NOT NULL,
  failure text NOT NULL,
  process uuid NOT NULL,
  count int NOT NULL,
  PRIMARY KEY (period_start, what, mode, provider, corridor, outcome, failure, process)
);

-- The bytes of a callback as text, masked and bounded, until it is done: what a person reads of one that led to nothing.
ALTER TABLE provider_inbox ADD COLUMN body text;
