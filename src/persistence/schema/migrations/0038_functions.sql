-- Which text of each file of functions/ the database has: they are applied again when a text changes, and no release puts an older text in
-- the place of a newer one. The release before neither writes nor reads it.
CREATE TABLE schema_functions (
  name text PRIMARY KEY,
  -- How many texts of the file were released so far.
  version int NOT NULL CHECK (version > 0),
  checksum text NOT NULL,
  applied_at timestamptz NOT NULL
);
