-- The networks themselves, behind the aggregators, in the rows of a new installation: one that has tenants keeps its routes, for an upgrade
-- alone changes neither the provider of a payment nor its price. Where there is no account they are passed over, and say nothing about how
-- well the corridor works. A collection at Wave needs a page, and its row has none.
WITH added (country, currency, direction, providers) AS (VALUES
  ('UG', 'UGX', 'collection', ARRAY['airtel']), ('UG', 'UGX', 'payout', ARRAY['airtel']),
  ('KE', 'KES', 'collection', ARRAY['airtel', 'daraja']), ('KE', 'KES', 'payout', ARRAY['airtel', 'daraja']),
  ('RW', 'RWF', 'collection', ARRAY['airtel']), ('RW', 'RWF', 'payout', ARRAY['airtel']),
  ('ZM', 'ZMW', 'collection', ARRAY['airtel']), ('ZM', 'ZMW', 'payout', ARRAY['airtel']),
  ('TZ', 'TZS', 'collection', ARRAY['airtel']), ('TZ', 'TZS', 'payout', ARRAY['airtel']),
  ('CI', 'XOF', 'payout', ARRAY['wave'])
),
changed AS (
  UPDATE corridors c SET providers = c.providers || a.providers
  FROM added a
  WHERE (c.country, c.currency, c.direction, c.method) = (a.country, a.currency, a.direction, 'momo')
    AND c.providers = ARRAY['eversend'] AND $1::text IS NOT NULL
    AND NOT EXISTS (SELECT FROM tenant_directory)
    AND NOT EXISTS (
      SELECT FROM audit_log l WHERE l.action = 'corridor set' AND l.subject = concat_ws('/', c.country, c.currency, c.direction, c.method)
    )
  RETURNING 1
)
SELECT NULL::text AS reached FROM (SELECT count(*) FROM changed) AS counted
