-- The branch through which a bank's account was paid last. The release before neither writes nor reads it, and leaves it as it is.
ALTER TABLE beneficiaries ADD COLUMN branch_code text;

-- Of the functions of a file as the catalogue had them after they were put: another release may replace one by a migration of its own. Null
-- where the release before put them.
ALTER TABLE schema_functions ADD COLUMN digest text;
