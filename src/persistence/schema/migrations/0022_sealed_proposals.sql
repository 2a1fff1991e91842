-- A proposal has a seal of whoever proposed it, and one of whoever approved it: an HMAC of the gateway's, as keys and operators have
-- (0020). Without both nothing is carried out. The token of a removed operator is kept, so that nobody puts the old row back; only the
-- owner of the tables can take it away.

ALTER TABLE console_proposals ADD COLUMN proposal_seal bytea, ADD COLUMN approval_seal bytea;

CREATE TABLE removed_operators (
  token_hash bytea PRIMARY KEY,
  name text NOT NULL,
  removed_at timestamptz NOT NULL
);
