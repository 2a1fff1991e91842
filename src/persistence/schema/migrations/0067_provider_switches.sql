-- The switch of a whole provider, a row for each that was ever switched. The release before does not know it, and goes on sending there.
CREATE TABLE provider_switches (
  provider text PRIMARY KEY,
  is_off boolean NOT NULL,
  -- As an operator said it, masked.
  reason text NOT NULL,
  changed_at timestamptz NOT NULL
);

-- It takes two people. The release before lists the kinds that it knows, and carries out no other.
ALTER TABLE console_proposals DROP CONSTRAINT console_proposals_kind_check;
ALTER TABLE console_proposals ADD CONSTRAINT console_proposals_kind_check CHECK (kind IN ('review resolve', 'float credit', 'float debit',
  'key issue', 'key revoke', 'corridor set', 'tenant freeze', 'tenant unfreeze', 'tenant pin', 'tenant unpin', 'provider off', 'provider on'))
  NOT VALID;
