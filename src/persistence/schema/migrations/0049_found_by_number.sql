-- What a tenant's support finds a record by. The keyed HMAC of the recipient's account without its bank, because a customer says the number
-- alone; null for whoever has no account. It goes with party_hash, after 90 days. The release before neither writes nor reads it.
ALTER TABLE transactions ADD COLUMN account_hash bytea;
