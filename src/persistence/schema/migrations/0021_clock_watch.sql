-- How far the database's clock was vouched for, so that rows are removed by their age only while nobody doubts it. One row, from now on and
-- for good. The release before neither writes nor reads it.

CREATE TABLE clock_watch (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- The newest time that a gateway has seen and believed; null before the first look.
  trusted_until timestamptz,
  -- Nonces that ended by then may have been removed; null where none was.
  nonces_until timestamptz,
  -- Why nothing is removed, until an operator confirms the clock; null while it is trusted.
  doubt text,
  doubted_at timestamptz,
  -- What was seen of the clock before an operator confirmed it, counts for nothing afterwards.
  confirmations int NOT NULL DEFAULT 0,
  CHECK ((doubt IS NULL) = (doubted_at IS NULL))
);
INSERT INTO clock_watch DEFAULT VALUES;
