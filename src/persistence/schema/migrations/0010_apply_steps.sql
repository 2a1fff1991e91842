-- By how much a batch moves one position. A type of its own: the place of a value is that of this list, and not that of the table's
-- columns.
CREATE TYPE position_move AS (
  app_id text, mode text, currency text,
  available_minor bigint, reserved_minor bigint, collected_minor bigint, paid_out_minor bigint, provider_fees_minor bigint,
  fx_in_minor bigint, fx_out_minor bigint, returned_minor bigint, receivable_minor bigint
);
