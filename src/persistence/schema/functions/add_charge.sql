-- Kept for an hour, which is four times what the guard looks back, and at most 64 of them. The charge itself is always kept.
CREATE OR REPLACE FUNCTION add_charge(recent jsonb, reference text, at timestamptz) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_object_agg(kept.key, kept.value) FROM (
    SELECT c.key, c.value FROM jsonb_each(recent || jsonb_build_object(reference, floor(extract(epoch FROM at) * 1000)::bigint)) c
    WHERE (c.value)::bigint > floor(extract(epoch FROM at) * 1000) - 3600000
    ORDER BY c.key = reference DESC, (c.value)::bigint DESC LIMIT 64
  ) kept
$$;
