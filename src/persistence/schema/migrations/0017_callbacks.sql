-- What a callback says became of the money. The release before neither writes nor reads it.

ALTER TABLE provider_inbox ADD COLUMN says text;
ALTER TABLE provider_inbox ADD CONSTRAINT provider_inbox_says_check CHECK (says IN ('pending', 'successful', 'failed', 'returned')) NOT VALID;
