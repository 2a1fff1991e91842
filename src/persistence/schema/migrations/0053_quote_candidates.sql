-- Whom an exchange's price was asked of, and what came of each: the exchange's history begins with it. Null of an older quote.
ALTER TABLE fx_quotes ADD COLUMN candidates text;
