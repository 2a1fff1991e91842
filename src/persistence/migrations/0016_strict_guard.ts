export const name = "0016_strict_guard"

/** The double-charge guard looks at every recent charge of a number, and a tenant may be released from those that succeeded. */
export const sql = `
-- Whether a further charge of a number may follow one that succeeded a moment ago: it is another sale then.
ALTER TABLE tenants ADD COLUMN repeat_sales boolean NOT NULL DEFAULT false;

-- The recent charges of the number by their references, each with the millisecond at which it was placed. An earlier one that had failed
-- when a later one was placed may still turn out to have succeeded.
ALTER TABLE payer_locks ADD COLUMN recent jsonb NOT NULL DEFAULT '{}';
UPDATE payer_locks SET recent = jsonb_build_object(reference, floor(extract(epoch FROM at) * 1000)::bigint) WHERE reference IS NOT NULL;

-- Kept for an hour, which is four times what the guard looks back, and at most 64 of them.
CREATE FUNCTION add_charge(recent jsonb, reference text, at timestamptz) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_object_agg(kept.key, kept.value) FROM (
    SELECT c.key, c.value FROM jsonb_each(recent || jsonb_build_object(reference, floor(extract(epoch FROM at) * 1000)::bigint)) c
    WHERE (c.value)::bigint > floor(extract(epoch FROM at) * 1000) - 3600000
    ORDER BY (c.value)::bigint DESC, c.key = reference DESC LIMIT 64
  ) kept
$$;
`
