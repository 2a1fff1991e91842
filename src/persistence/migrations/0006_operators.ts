export const name = "0006_operators"

/** What operators need: the account of what a tenant owes, the masked trail of the last money call, and the list of open reviews. */
export const sql = `
ALTER TABLE postings DROP CONSTRAINT postings_account_check;
ALTER TABLE postings ADD CONSTRAINT postings_account_check CHECK (account IN ('available', 'reserved', 'collected', 'paid_out',
  'provider_fees', 'credited', 'debited', 'fx_in', 'fx_out', 'returned', 'receivable', 'drift', 'pool'));

-- What a correction took and the float could not cover: the tenant owes it. What a payout may draw from is available less this.
ALTER TABLE float_positions ADD COLUMN receivable_minor bigint NOT NULL DEFAULT 0 CHECK (receivable_minor >= 0);
ALTER TABLE float_positions DROP CONSTRAINT float_adds_up;
ALTER TABLE float_positions ADD CONSTRAINT float_adds_up CHECK (available_minor + reserved_minor - receivable_minor =
  collected_minor + credited_minor + fx_in_minor + returned_minor
  - fx_out_minor - paid_out_minor - debited_minor - provider_fees_minor);

-- The last money call as it was sent and answered, masked and bounded before it came here.
ALTER TABLE transactions ADD COLUMN raw_request text;
ALTER TABLE transactions ADD COLUMN raw_response text;

CREATE INDEX transactions_in_review ON transactions (created_at) WHERE needs_review;
`
