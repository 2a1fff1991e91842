-- How often a callback was looked into in vain. The release before counts neither, and goes by the age.

-- looks: those that ended and told nothing. claims: those since the last of these of which no look has ended.
ALTER TABLE provider_inbox ADD COLUMN looks int NOT NULL DEFAULT 0, ADD COLUMN claims int NOT NULL DEFAULT 0;
