-- The last comparison of each provider and day, for the console: figures, and what was found, masked and bounded. The release before
-- neither writes nor reads it.
CREATE TABLE reconciliations (
  provider text NOT NULL,
  -- A day of UTC, as 2026-01-31.
  day text NOT NULL,
  at timestamptz NOT NULL,
  ours int NOT NULL,
  theirs int NOT NULL,
  unreadable int NOT NULL,
  differences int NOT NULL,
  explained int NOT NULL,
  -- Masked, and so many that a page can list them.
  listed json NOT NULL,
  PRIMARY KEY (provider, day)
);
