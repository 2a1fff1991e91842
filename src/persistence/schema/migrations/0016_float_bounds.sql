-- No position holds more than a JSON integer can say exactly (2^53-1): what would pass it is not posted, by whatever statement. Without
-- this a person's ruling with a digit too many made a float that nothing could read.

ALTER TABLE float_positions ADD CONSTRAINT float_within_bounds CHECK (greatest(available_minor, reserved_minor, receivable_minor, collected_minor,
  paid_out_minor, provider_fees_minor, credited_minor, debited_minor, fx_in_minor, fx_out_minor, returned_minor) <= 9007199254740991) NOT VALID;
