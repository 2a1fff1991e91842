-- What a check of the changes alone goes on from. The release before neither writes nor reads it.

-- The sum of the postings of each account of a float, those before `upto`. Where that is earlier than `folded_upto`, the account has no
-- posting between the two.
CREATE TABLE position_folds (
  app_id text NOT NULL,
  mode text NOT NULL,
  currency text NOT NULL,
  account text NOT NULL,
  amount_minor bigint NOT NULL,
  upto timestamptz NOT NULL,
  PRIMARY KEY (app_id, mode, currency, account)
);

-- One row, made by the first verification that came to its end: what changed before `checked_upto` was checked, and what was posted before
-- `folded_upto` is in position_folds.
CREATE TABLE changes_checked (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  checked_upto timestamptz NOT NULL,
  folded_upto timestamptz NOT NULL
);

-- When a provider's name of a record was written; null of what was there before. The release before leaves it to the default.
ALTER TABLE provider_references ADD COLUMN written_at timestamptz;
ALTER TABLE provider_references ALTER COLUMN written_at SET DEFAULT now();
