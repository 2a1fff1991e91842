import { ofTenant } from "./0008_open_steps.ts"
import { text as opening } from "./0019_metadata_members.ts"
import { inBothForms } from "./TenantForm.ts"

export const name = "0025_corrections"

/**
 * Each case of a record may have its correction: the first stands in the slot `correction`, the next ones in `correction-2`, `correction-3` and so on.
 *
 * Nothing is opened by a reference that operators booked by hand after a restore had forgotten it, also where they booked it while it was opened:
 * whoever books locks the tenant, so that one of the two sees the other.
 */
const alone = {
  before: "\n    -- PayerBusy: ",
  check: `
    -- ClaimLost, too: an operator booked it meanwhile. Who claims the key again is told.
    IF EXISTS (SELECT FROM float_adjustments f WHERE f.app_id = p_app_id AND f.mode = p_mode AND f.external_id = p_reference) THEN
      verdict := 'ClaimLost'; RAISE SQLSTATE 'GW001';
    END IF;
`
}
const together = {
  before: "\n  -- Lock 3: ",
  check: `
  -- An operator booked it meanwhile: its claim is lost. Who claims the key again is told.
  FOR r IN
    SELECT s.n FROM unnest(p_app_id, p_mode, p_reference) WITH ORDINALITY AS s(app_id, mode, reference, n)
    JOIN float_adjustments f ON f.app_id = s.app_id AND f.mode = s.mode AND f.external_id = s.reference /*+ AND f.app_id = p_app */
  LOOP
    claim_owner[r.n] := NULL;
  END LOOP;
`
}
const checked = (text: string, { before, check }: typeof alone): string => text.replace(before, () => `${check}${before}`)
const batch = checked(opening.together, together)

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
${inBothForms(["open_step"], checked(opening.alone, alone))}
${inBothForms(["open_steps"], batch, ofTenant(batch))}
`
  }
] as const
