-- Who pays, of each tenant, sealed: providers are told it where a country wants to know it. The release before writes the columns that it
-- knows, and leaves this one as it is.

ALTER TABLE tenants ADD COLUMN sender_sealed bytea;
