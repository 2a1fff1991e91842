export const name = "0013_counted_looks"

/**
 * A callback has a number of looks, whenever they begin. The release before parks one by its age and counts nothing; what it leaves due is looked
 * into by the newer one as if it had just come.
 */
export const steps = [{ form: "transaction", sql: "ALTER TABLE provider_inbox ADD COLUMN looks int NOT NULL DEFAULT 0" }] as const
