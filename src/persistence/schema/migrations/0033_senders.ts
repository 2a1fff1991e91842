import { steps as revokedKeys } from "./0026_revoked_keys.ts"

export const name = "0033_senders"

const was = revokedKeys[0].sql
const changeAccess = was.slice(was.indexOf("CREATE OR REPLACE FUNCTION change_access"))

/**
 * Who pays, of each tenant, sealed: providers are told it where a country wants to know it. The release before writes the columns that it knows, and leaves
 * this one as it is; the function is the one of 0026 with one change more that it makes.
 */
export const steps = [
  {
    form: "transaction",
    sql: `
ALTER TABLE tenants ADD COLUMN sender_sealed bytea;

-- As in 0026, and: the sender of a tenant is set, or taken away with null.
${changeAccess.replace(
  "  WHEN 'key issue' THEN",
  `  WHEN 'tenant sender' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(app_id text, sender_sealed bytea);
    UPDATE tenants t SET sender_sealed = r.sender_sealed WHERE t.app_id = r.app_id;
    changed := FOUND;
  WHEN 'key issue' THEN`
)}`
  }
] as const
