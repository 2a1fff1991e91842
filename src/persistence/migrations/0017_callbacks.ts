export const name = "0017_callbacks"

/** What a callback says became of the money. The release before neither writes nor reads it. */
export const steps = [
  {
    form: "transaction",
    sql: `
ALTER TABLE provider_inbox ADD COLUMN says text CHECK (says IN ('pending', 'successful', 'failed', 'returned'));
`
  }
] as const
