-- at_most: so many of this action are kept; null: all of them, until they have had their time. Its lock is the tenant's own, and the last
-- that is taken.
CREATE OR REPLACE FUNCTION record_tenant_change(of_app text, of_mode text, at timestamptz, actor text, action text, details text, at_most bigint)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  last bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tenant_changes'), hashtext(of_app || '/' || of_mode));
  SELECT coalesce(max(place), 0) INTO last FROM tenant_changes WHERE app_id = of_app AND mode = of_mode;
  INSERT INTO tenant_changes VALUES (of_app, of_mode, last + 1, at, actor, action, details);
  IF at_most IS NOT NULL THEN
    DELETE FROM tenant_changes c WHERE c.app_id = of_app AND c.mode = of_mode AND c.action = record_tenant_change.action AND c.place <= (
      SELECT o.place FROM tenant_changes o WHERE o.app_id = of_app AND o.mode = of_mode AND o.action = record_tenant_change.action
      ORDER BY o.place DESC OFFSET at_most LIMIT 1);
  END IF;
END
$$;
