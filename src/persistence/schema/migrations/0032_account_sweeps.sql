-- When each of the gateway's accounts at providers is next looked through for what was taken back. The release before neither writes nor
-- reads it.

CREATE TABLE account_sweeps (
  provider text NOT NULL,
  mode mode_word NOT NULL,
  next_at timestamptz NOT NULL,
  PRIMARY KEY (provider, mode)
);
