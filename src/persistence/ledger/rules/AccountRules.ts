import { type Account, type Phase, slots } from "../../../domain/Ledger.ts"
import type { LedgerRule } from "../LedgerRule.ts"

type Side = "source" | "destination"

// What an entry may post, by the kind of its record: nothing else, and in no other currency. An adjustment has no record.
const source = (...accounts: ReadonlyArray<Account>) => accounts.map((account) => [account, "source"] as const)
const destination = (...accounts: ReadonlyArray<Account>) => accounts.map((account) => [account, "destination"] as const)
const posts: Readonly<Record<string, { readonly [P in Phase]?: ReadonlyArray<readonly [Account, Side]> }>> = {
  adjustment: { credit: source("available", "credited", "receivable"), debit: source("available", "debited", "receivable") },
  payout: {
    reserve: source("available", "reserved"),
    settle: source("available", "reserved", "paid_out", "provider_fees", "drift", "pool"),
    release: source("available", "reserved"),
    return: source("available", "returned"),
    correct: source("available", "receivable", "paid_out", "provider_fees", "returned", "drift", "pool")
  },
  collection: {
    collect: source("available", "collected", "provider_fees"),
    correct: source("available", "receivable", "collected", "provider_fees")
  },
  exchange: {
    reserve: source("available", "reserved"),
    release: source("available", "reserved"),
    exchange: [...source("reserved", "fx_out"), ...destination("available", "fx_in")],
    correct: [...source("available", "receivable", "fx_out"), ...destination("available", "receivable", "fx_in")]
  }
}

const places = Object.entries(posts).flatMap(([kind, phases]) =>
  Object.entries(phases).flatMap(([phase, accounts]) =>
    accounts.map(([account, side]) => `('${kind}', '${phase}', '${account}', '${side}')`)
  )
)

/** An entry stands in its own place and moves its own accounts: beside them, balanced lines could say anything. */
export const accountRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "entries_stand_in_their_slot",
    counted: "SELECT count(*) FROM journal",
    broken: `
      SELECT j.app_id || '/' || j.reference || '/' || j.slot AS subject, 'a ' || j.phase || ' that stands where a second one could follow it' AS found
      FROM journal j LEFT JOIN (VALUES ${Object.entries(slots).map((one) => `('${one.join("', '")}')`)}) AS s(phase, slot)
        ON s.phase = j.phase AND s.slot = j.slot
      WHERE s.phase IS NULL`
  },
  {
    rule: "entries_keep_to_their_accounts",
    counted: "SELECT count(*) FROM postings",
    broken: `
      WITH owner AS (
        SELECT app_id, reference, kind, record->>'currency' AS source, record->>'destinationCurrency' AS destination FROM transactions
        UNION ALL SELECT app_id, reference, 'adjustment', currency, NULL FROM float_adjustments
      )
      SELECT p.app_id || '/' || p.reference || '/' || p.slot AS subject,
        'a ' || j.phase || ' of the ' || o.kind || ' posts ' || p.amount_minor || ' ' || p.currency || ' to ' || p.account || ', which is not its own' AS found
      FROM owner o JOIN journal j ON j.app_id = o.app_id AND j.reference = o.reference
      JOIN postings p ON p.app_id = j.app_id AND p.reference = j.reference AND p.slot = j.slot
      LEFT JOIN (VALUES ${places.join(", ")}) AS a(kind, phase, account, side)
        ON a.kind = o.kind AND a.phase = j.phase AND a.account = p.account AND CASE a.side WHEN 'source' THEN o.source ELSE o.destination END = p.currency
      WHERE a.kind IS NULL`
  }
]
