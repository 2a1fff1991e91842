import { createHash } from "node:crypto"
import { Client } from "pg"

/** What an unsigned or forged request must leave as it is, each as the hash of its rows. */
const KEPT = {
  floats: "SELECT t::text AS row FROM float_positions t",
  postings: "SELECT t::text AS row FROM postings t",
  transactions: "SELECT reference || ' ' || status AS row FROM transactions",
  adjustments: "SELECT t::text AS row FROM float_adjustments t",
  // A key that is used says when.
  keys: "SELECT (to_jsonb(t) - 'last_used_at')::text AS row FROM api_keys t",
  endpoints: "SELECT t::text AS row FROM webhook_endpoints t",
  beneficiaries: "SELECT t::text AS row FROM beneficiaries t",
  claims: "SELECT count(*)::text AS row FROM idempotency_keys",
  changes: "SELECT count(*)::text AS row FROM tenant_changes"
} as const

export type Books = Readonly<Record<string, string>>

/** The books as they stand in the database, read by its owner and not through the gateway. */
export const readBooks = async (databaseUrl: string): Promise<Books> => {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const read: Record<string, string> = {}
    for (const [name, statement] of Object.entries(KEPT)) {
      const { rows } = await client.query(`${statement} ORDER BY 1`)
      const hash = createHash("sha256")
      for (const { row } of rows) hash.update(`${String(row)}\n`)
      read[name] = `${rows.length} rows, ${hash.digest("hex").slice(0, 16)}`
    }
    return read
  } finally {
    await client.end()
  }
}

/** What changed, by its name. */
export const changesOf = (before: Books, after: Books): ReadonlyArray<string> =>
  Object.keys(KEPT)
    .filter((name) => before[name] !== after[name])
    .map((name) => `${name}: ${before[name]} became ${after[name]}`)
