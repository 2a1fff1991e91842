-- An amount below which a tenant wants to be told of a float, null where it set none, and whether it was told since the float fell.
-- The release before leaves both as they are, and no step of a payment reads or writes them. The index finds the few that have one.

ALTER TABLE float_positions ADD COLUMN alert_below_minor bigint, ADD COLUMN alert_told boolean NOT NULL DEFAULT false;
