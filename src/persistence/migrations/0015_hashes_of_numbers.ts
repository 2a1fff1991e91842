export const name = "0015_hashes_of_numbers"

/**
 * What finds the transactions whose number was forgotten while the windows that it was counted in, named by the same keyed HMAC, were kept.
 * Nothing writes such a row any more: the index empties itself, and a new transaction has no entry in it.
 */
export const sql = `
CREATE INDEX transactions_with_windows ON transactions (created_at) WHERE party_hash IS NULL AND json_array_length(counted) > 0;
`
