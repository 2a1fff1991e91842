export const name = "0009_routing"

/** Who serves a corridor, in order, and which tenants are served by one provider wherever it can. */
export const sql = `
ALTER TABLE corridors ADD COLUMN providers text[];
UPDATE corridors SET providers = ARRAY[provider];
ALTER TABLE corridors ALTER COLUMN providers SET NOT NULL, ADD CHECK (cardinality(providers) > 0), DROP COLUMN provider;

ALTER TABLE tenants ADD COLUMN pinned_provider text;
`
