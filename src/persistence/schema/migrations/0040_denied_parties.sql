-- What the digits of a denial are of: a phone and an account with the same ones are two parties. Null denies both, as every row of an
-- earlier release. The release before neither writes nor reads it: by its look-ups a row denies both, too.

ALTER TABLE denials ADD COLUMN party text;
ALTER TABLE denials ADD CONSTRAINT denials_party_check CHECK (party IN ('phone', 'account')) NOT VALID;
