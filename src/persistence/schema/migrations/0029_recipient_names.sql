-- Whether a mobile-money payout has to say its recipient's name. The release before writes the columns that it knows, and leaves this one
-- as it is.

ALTER TABLE corridors ADD COLUMN requires_name boolean NOT NULL DEFAULT false;
