-- What each posting of an entry does to its position: the one table of signs, for both functions that post an entry. What came in from
-- outside, and what the tenant owes, is posted with the sign turned (src/domain/Ledger.ts). The verifier has a table of its own. The
-- planner puts this into their statements.
CREATE OR REPLACE FUNCTION signed_postings(currencies text, accounts text, amounts text)
RETURNS TABLE (currency text, account text, amount bigint) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT e.currency, e.account,
    CASE WHEN e.account IN ('collected', 'credited', 'fx_in', 'returned', 'receivable') THEN -e.amount ELSE e.amount END
  FROM unnest(currencies::text[], accounts::text[], amounts::bigint[]) AS e(currency, account, amount)
$$;
