-- How much of a currency a tenant may move in a window, where an operator says so; there is no default. A table of its own: the release
-- before reads every row of `limits`, and knows neither amounts nor the windows of a key. It enforces none of these.
CREATE TABLE amount_caps (
  app_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  direction text NOT NULL CHECK (direction IN ('payout', 'collection')),
  window_name text NOT NULL CHECK (window_name IN ('hour', 'day', 'destination', 'destination_day', 'key', 'key_day')),
  currency text NOT NULL,
  amount_minor bigint NOT NULL CHECK (amount_minor > 0),
  PRIMARY KEY (app_id, mode, direction, window_name, currency)
);
