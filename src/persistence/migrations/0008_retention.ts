export const name = "0008_retention"

/** What finds the keyed HMACs of numbers that have had their 90 days, and where payouts go across currencies. */
export const sql = `
CREATE INDEX transactions_with_party ON transactions (created_at) WHERE party_hash IS NOT NULL;
CREATE INDEX payer_locks_by_age ON payer_locks (at);

-- What Eversend exchanges on the way: a payout reaches the other countries where the same method is open.
UPDATE corridors SET destination_currencies = '{UGX,KES,RWF,GHS,ZMW}' WHERE active AND direction = 'payout' AND method = 'momo';
UPDATE corridors SET destination_currencies = '{UGX,KES,GHS,NGN}' WHERE active AND direction = 'payout' AND method = 'bank';
UPDATE corridors SET destination_currencies = '{UGX,KES,RWF,GHS,NGN,TZS}' WHERE active AND direction = 'payout' AND method = 'wallet';
`
