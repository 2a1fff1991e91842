-- What nodes tell each other of calls to providers in flight that pass their usual time. A row is written again four times a second
-- while it is true, and what is older than seconds counts for nothing. The release before neither writes nor reads it.

CREATE TABLE late_calls (
  node text NOT NULL,
  -- Provider, mode and operation.
  line text NOT NULL,
  -- Whose requests they are; empty for the gateway's own work.
  tenant text NOT NULL,
  calls int NOT NULL,
  said_at timestamptz NOT NULL,
  PRIMARY KEY (node, line, tenant)
);
