-- Money: what was asked for, what happened to it, and the entries from which every float is folded. Every table of a tenant leads its
-- primary key with app_id, so that the schema can be distributed by it.
-- functions/open_step.sql has the order in which rows are locked.
-- What grows for ever lies in partitions by time, a month (UTC) each, so that the newest rows have small indexes of their own. TABLE_first
-- reaches from the beginning to the months that a gateway makes ahead; TABLE_default takes what no month was made for, so that a row of any
-- time lands. What makes a step unique stays whole: transactions.

-- The words of the columns that money steps write. A domain is made ready once a connection, a CHECK of a table anew by each statement that
-- writes a row, and a step that is alone is a dozen statements.
CREATE DOMAIN mode_word AS text CHECK (VALUE IN ('live', 'test'));
CREATE DOMAIN kind_word AS text CHECK (VALUE IN ('collection', 'payout', 'exchange'));
CREATE DOMAIN status_word AS text CHECK (VALUE IN ('requires_action', 'pending', 'successful', 'failed', 'expired'));

-- One row a collection, a payout or an exchange. What changes while it is open is in no index, so that every update is made in place: what
-- is still to be done with it stands in open_work.
CREATE TABLE transactions (
  app_id text NOT NULL,
  reference text NOT NULL,
  mode mode_word NOT NULL,
  kind kind_word NOT NULL,
  created_at timestamptz NOT NULL,
  -- The keyed HMAC of the payer's or recipient's number; removed after 90 days.
  party_hash bytea,
  -- The windows that it was counted in, so that a failed payout is given back to exactly those; read with counted_windows.
  counted json NOT NULL DEFAULT '[]',
  -- W3C trace context of the request, so that work that comes later can be linked to it.
  traceparent text,
  -- What a step changes comes last: of an update the write-ahead log holds only what follows the first change.
  status status_word NOT NULL,
  needs_review boolean NOT NULL,
  provider text NOT NULL,
  provider_reference text,
  -- Grows with every write; a step applies to exactly the revision that it was decided against.
  revision bigint NOT NULL,
  -- The slots of the entries that were posted: none is posted twice, and the lock of this row guards it.
  slots text[] NOT NULL DEFAULT '{}',
  -- json and not jsonb: it is only ever read as a whole.
  record json NOT NULL,
  -- The last money call as it was sent and answered, masked and bounded before it came here.
  raw_request text,
  raw_response text,
  -- By reference first: a callback or an operator names the reference and not the tenant.
  PRIMARY KEY (reference, app_id)
) WITH (fillfactor = 50);
-- For sweeps and for reconciliation, which read a time and no tenant.
CREATE INDEX transactions_by_age ON transactions USING brin (created_at) WITH (pages_per_range = 32, autosummarize = on);
-- A tenant's own list, the newest first. Its filters have no index of their own: each would cost every payment an entry. Only a statement
-- that says what every row is may read it: PostgreSQL 18 would else find one reference in it, reading all of a young table.
CREATE INDEX transactions_by_tenant_and_time ON transactions (app_id, mode, created_at, reference) WHERE created_at > '-infinity';

-- Lets a callback with only the provider's reference find its transaction.
CREATE TABLE provider_references (
  provider text NOT NULL,
  mode text NOT NULL,
  provider_reference text NOT NULL,
  app_id text NOT NULL,
  reference text NOT NULL,
  PRIMARY KEY (provider, mode, provider_reference, app_id, reference)
);

-- What is still to be done: a row as long as a record is open, is polled after its end, or needs a person. The step that leaves nothing to
-- do deletes it, and with it what only an open payment needs.
CREATE TABLE open_work (
  app_id text NOT NULL,
  reference text NOT NULL,
  mode text NOT NULL,
  created_at timestamptz NOT NULL,
  -- False once the record is closed, and is polled because its outcome may still change.
  is_open boolean NOT NULL,
  next_poll_at timestamptz,
  lease_until timestamptz,
  needs_review boolean NOT NULL,
  -- Where a payout goes, until the provider has it.
  sealed_destination bytea,
  -- The recipient of a payout, masked, until the provider accepts it and it becomes a beneficiary.
  beneficiary json,
  -- Until then an operator's acknowledgement rests its alerts, unless it has gone into review, or out of it, since.
  acknowledged_until timestamptz,
  acknowledged_in_review boolean,
  PRIMARY KEY (app_id, reference)
) WITH (fillfactor = 70);
-- What is to be polled next, and what is open at all. The lease is not in it, so that taking one moves no row.
CREATE INDEX open_work_due ON open_work (is_open, next_poll_at);
-- The list of open reviews.
CREATE INDEX open_work_in_review ON open_work (created_at, reference) WHERE needs_review;

-- Whether an entry has its slot, has whole postings of known accounts, and sums to zero in each of its currencies. One function and not a
-- constraint a rule, for the reason of the domains.
CREATE FUNCTION is_entry(slot text, phase text, currencies text[], accounts text[], amounts bigint[]) RETURNS boolean LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE AS $$
DECLARE amount bigint; total bigint := 0;
BEGIN
  IF slot IS NULL OR cardinality(amounts) = 0 THEN
    RETURN slot IS NULL AND phase IS NULL AND cardinality(currencies) + cardinality(accounts) + cardinality(amounts) = 0;
  END IF;
  -- One currency, as in all entries but those of exchanges.
  IF currencies[1] = ALL (currencies) THEN
    FOREACH amount IN ARRAY amounts LOOP total := total + amount; END LOOP;
  ELSIF EXISTS (SELECT FROM unnest(currencies, amounts) AS p(currency, amount) GROUP BY p.currency HAVING sum(p.amount) <> 0 OR p.currency IS NULL) THEN
    RETURN false;
  END IF;
  -- A NULL among them is neither true nor whole.
  RETURN (total = 0 AND 0 <> ALL (amounts) AND slot IN ('open', 'close', 'return', 'correction')
    AND phase IN ('credit', 'debit', 'reserve', 'collect', 'settle', 'release', 'exchange', 'return', 'correct')
    AND cardinality(currencies) = cardinality(amounts) AND cardinality(accounts) = cardinality(amounts)
    AND accounts <@ '{available,reserved,collected,paid_out,provider_fees,credited,debited,fx_in,fx_out,returned,receivable,drift,pool}'::text[]) IS TRUE;
END
$$;

-- One row a step: the line of the history and, where money moved, its entry. Evidence: it never changes, and is kept.
-- revision is the record's after the step; 1 opened it. A float adjustment has a reference of its own, revision 1 and no status.
CREATE TABLE journal (
  app_id text NOT NULL,
  reference text NOT NULL,
  revision bigint NOT NULL,
  mode text NOT NULL,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  fact text NOT NULL,
  note text NOT NULL,
  status text,
  -- settle and release share the slot 'close': only one of them can ever exist for a transaction.
  slot text,
  phase text,
  currencies text[] NOT NULL DEFAULT '{}',
  accounts text[] NOT NULL DEFAULT '{}',
  amounts bigint[] NOT NULL DEFAULT '{}',
  -- Of the texts that the step wrote: ledger verify holds frozen bytes against them. Null where the step wrote no such text.
  record_digest bytea,
  event_digest bytea,
  answer_digest bytea,
  PRIMARY KEY (app_id, reference, revision, at),
  CONSTRAINT entry_is_whole CHECK (is_entry(slot, phase, currencies, accounts, amounts))
) PARTITION BY RANGE (at);
CREATE TABLE journal_first PARTITION OF journal
  FOR VALUES FROM (MINVALUE) TO ((date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC');
CREATE TABLE journal_default PARTITION OF journal DEFAULT;

-- The amounts of the entries.
CREATE VIEW postings AS SELECT j.app_id, j.reference, j.slot, p.currency, p.account, j.mode, p.amount AS amount_minor, j.at
FROM journal j CROSS JOIN LATERAL unnest(j.currencies, j.accounts, j.amounts) AS p(currency, account, amount);

-- What happened to each record, a line a step.
CREATE VIEW transaction_history AS SELECT app_id, reference, revision AS line, at, actor, fact, note, status, record_digest, event_digest, answer_digest
FROM journal WHERE status IS NOT NULL;

-- The fold of a tenant's postings in one currency.
CREATE TABLE float_positions (
  app_id text NOT NULL,
  mode text NOT NULL,
  currency text NOT NULL,
  available_minor bigint NOT NULL DEFAULT 0,
  reserved_minor bigint NOT NULL DEFAULT 0,
  collected_minor bigint NOT NULL DEFAULT 0,
  paid_out_minor bigint NOT NULL DEFAULT 0,
  provider_fees_minor bigint NOT NULL DEFAULT 0,
  credited_minor bigint NOT NULL DEFAULT 0,
  debited_minor bigint NOT NULL DEFAULT 0,
  fx_in_minor bigint NOT NULL DEFAULT 0,
  fx_out_minor bigint NOT NULL DEFAULT 0,
  returned_minor bigint NOT NULL DEFAULT 0,
  -- What a correction took and the float could not cover: the tenant owes it. What a payout may draw from is available less this.
  receivable_minor bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (app_id, mode, currency)
);
-- What is there is never below zero, and is what came in less what went out. A function for the reason of the domains; not of the row: a
-- shard's is of another type.
CREATE FUNCTION adds_up(available bigint, reserved bigint, receivable bigint, collected bigint, credited bigint, fx_in bigint, returned bigint, fx_out bigint,
  paid_out bigint, debited bigint, provider_fees bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN available >= 0 AND reserved >= 0 AND receivable >= 0
    AND available + reserved - receivable = collected + credited + fx_in + returned - fx_out - paid_out - debited - provider_fees;
END
$$;
ALTER TABLE float_positions ADD CONSTRAINT float_adds_up CHECK (adds_up(available_minor, reserved_minor, receivable_minor, collected_minor, credited_minor,
  fx_in_minor, returned_minor, fx_out_minor, paid_out_minor, debited_minor, provider_fees_minor));

-- An operator's credits and debits, known by their external id.
CREATE TABLE float_adjustments (
  app_id text NOT NULL,
  mode text NOT NULL,
  external_id text NOT NULL,
  reference text NOT NULL,
  direction text NOT NULL CHECK (direction IN ('credit', 'debit')),
  currency text NOT NULL,
  amount_minor bigint NOT NULL CHECK (amount_minor > 0),
  note text NOT NULL,
  at timestamptz NOT NULL,
  position json NOT NULL,
  PRIMARY KEY (app_id, mode, external_id)
);

-- Recipients that a tenant has paid, masked; one row a recipient and mode.
CREATE TABLE beneficiaries (
  app_id text NOT NULL,
  id text NOT NULL,
  mode mode_word NOT NULL,
  party_hash bytea NOT NULL,
  type text NOT NULL,
  country text NOT NULL,
  currency text NOT NULL,
  network text,
  bank_code text,
  bank_name text,
  account_name text,
  masked_destination text NOT NULL,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, id)
);
-- A recipient that was paid before keeps its row.
CREATE UNIQUE INDEX beneficiaries_by_party ON beneficiaries (app_id, mode, party_hash);
-- The tenant's list, the newest first.
CREATE INDEX beneficiaries_by_use ON beneficiaries (app_id, mode, created_at DESC, id DESC);
