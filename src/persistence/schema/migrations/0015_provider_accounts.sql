-- Which account at a provider something was sent with. A record has it among its own members; the release before reads and writes none of
-- this.

-- By which account records were sent that keep none: written once, by the first process that keeps accounts.
CREATE TABLE account_claims (
  provider text NOT NULL,
  mode mode_word NOT NULL,
  fingerprints text[] NOT NULL CHECK (cardinality(fingerprints) > 0),
  PRIMARY KEY (provider, mode)
);
ALTER TABLE sent_codes ADD COLUMN account text;
ALTER TABLE fx_quotes ADD COLUMN account text;
