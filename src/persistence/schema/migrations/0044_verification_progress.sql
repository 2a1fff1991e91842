-- How far a ledger verify came that was ended before its end: one row, from which the next one goes on if it is told to. The release
-- before neither writes nor reads it.
CREATE TABLE verification_progress (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  at timestamptz NOT NULL,
  progress json NOT NULL
);
