-- Changes of corridors and tenants wait for a second person as well. The release before lists the kinds that it knows, and carries out
-- no other.
ALTER TABLE console_proposals DROP CONSTRAINT console_proposals_kind_check;
ALTER TABLE console_proposals ADD CONSTRAINT console_proposals_kind_check CHECK (kind IN ('review resolve', 'float credit', 'float debit',
  'key issue', 'key revoke', 'corridor set', 'tenant freeze', 'tenant unfreeze', 'tenant pin', 'tenant unpin')) NOT VALID;
