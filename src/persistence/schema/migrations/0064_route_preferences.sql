-- How an operator wants the providers of a corridor to be ordered. The release before writes the columns that it knows, and leaves this one
-- as it is: it goes by the order of the row.
ALTER TABLE corridors ADD COLUMN preference text NOT NULL DEFAULT 'order';

-- What became of payments at each provider, in periods of five minutes, by network and by how long they took. It names no tenant and no
-- transaction. A process writes its own rows alone, each with the whole count. The release before neither writes nor reads it.
CREATE TABLE route_counts (
  period_start timestamptz NOT NULL,
  mode text NOT NULL,
  direction text NOT NULL,
  corridor text NOT NULL,
  network text NOT NULL,
  provider text NOT NULL,
  result text NOT NULL,
  -- The upper bound of the time that they took; 0 where none is counted.
  within_ms int NOT NULL,
  process uuid NOT NULL,
  count int NOT NULL,
  PRIMARY KEY (period_start, mode, direction, corridor, network, provider, result, within_ms, process)
);

-- The order of a corridor's providers by their success, which all nodes share, and the one before it.
CREATE TABLE route_orders (
  mode text NOT NULL,
  direction text NOT NULL,
  corridor text NOT NULL,
  network text NOT NULL,
  -- The row's own order, of which this one was made: of another one it says nothing.
  configured text[] NOT NULL,
  providers text[] NOT NULL,
  previous text[] NOT NULL,
  changed_at timestamptz NOT NULL,
  PRIMARY KEY (mode, direction, corridor, network)
);
