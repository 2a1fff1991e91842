export const name = "0025_corrections"

/**
 * Each case of a record may have its correction: the first stands in the slot `correction`, the next ones in `correction-2`, `correction-3` and so on.
 */
export const steps = [
  {
    form: "transaction",
    sql: `
-- As in 0001, with the slots of further corrections. No entry that was whole is not any more.
CREATE OR REPLACE FUNCTION is_entry(slot text, phase text, currencies text[], accounts text[], amounts bigint[]) RETURNS boolean LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE AS $$
DECLARE amount bigint; total bigint := 0;
BEGIN
  IF slot IS NULL OR cardinality(amounts) = 0 THEN
    RETURN slot IS NULL AND phase IS NULL AND cardinality(currencies) + cardinality(accounts) + cardinality(amounts) = 0;
  END IF;
  -- One currency, as in all entries but those of exchanges.
  IF currencies[1] = ALL (currencies) THEN
    FOREACH amount IN ARRAY amounts LOOP total := total + amount; END LOOP;
  ELSIF EXISTS (SELECT FROM unnest(currencies, amounts) AS p(currency, amount) GROUP BY p.currency HAVING sum(p.amount) <> 0 OR p.currency IS NULL) THEN
    RETURN false;
  END IF;
  -- A NULL among them is neither true nor whole.
  RETURN (total = 0 AND 0 <> ALL (amounts)
    AND (slot IN ('open', 'close', 'return', 'correction') OR phase = 'correct' AND slot ~ '^correction-([2-9]|[1-9][0-9]+)$')
    AND phase IN ('credit', 'debit', 'reserve', 'collect', 'settle', 'release', 'exchange', 'return', 'correct')
    AND cardinality(currencies) = cardinality(amounts) AND cardinality(accounts) = cardinality(amounts)
    AND accounts <@ '{available,reserved,collected,paid_out,provider_fees,credited,debited,fx_in,fx_out,returned,receivable,drift,pool}'::text[]) IS TRUE;
END
$$;
`
  }
] as const
