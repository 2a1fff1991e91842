-- What the adapters of all nodes share: a token of which a provider's account has only one, and what a provider answered to a path of ours
-- before the node that asked has taken it. The release before neither writes nor reads it.
CREATE TABLE provider_memory (
  name text PRIMARY KEY,
  -- Empty in a row that only holds a name for somebody.
  sealed bytea NOT NULL,
  until timestamptz NOT NULL
);
CREATE INDEX provider_memory_by_end ON provider_memory (until);
