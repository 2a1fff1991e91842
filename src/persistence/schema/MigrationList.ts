import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { BaseMigration, Migration, MigrationStep } from "./Migration.ts"

/**
 * The checksums in databases of migrations that contained functions before functions had their own files: those of the released
 * texts. Their remaining text does to the tables what the released text did; `functions/` does the rest. Also of one whose
 * columns may exist already.
 */
const released: Readonly<Record<string, string>> = {
  "0001_ledger": "795618dbca0eeb80b39671096d6f7ac68bd44c613a817f148708fe0deb1a2754",
  "0002_requests": "a17cfd2912ab45b9667783a5876ed92bea17314d812d81591e9ada37bfb64cb1",
  "0003_providers": "f8eccb2c95aa454d8b2f225805643b6e4ab871075e872e25db77b1a589196287",
  "0004_webhooks": "9d185d168430a0e1be03bca856cff072660fe06c952aedae03b3503b1c6df529",
  "0005_operators": "8a3f667732443c9459e5995cedcbb14f041b3fe4b32fb032bec8731391700a89",
  "0006_arrival": "4ec74969915893de06acc8f1abde17146fc2595fa2d343b5a54bf905648ead6a",
  "0007_open_step": "826cf1aeb534085029ccd840c49a5b5f6ea84dde0aeff0debc84d4e0a0f3d0b8",
  "0008_open_steps": "5c3279ce0d0a57164f53d7612833323591803935ce79ece99df6335ced29d4cd",
  "0009_apply_step": "abe5f1a932450008e7b35a885b4ad1c068fd22f5628b08d942438507f1fffe10",
  "0010_apply_steps": "e4f8f710b4972a39cdffd34e75c18835f2571d3992b25b921594ff4159aef06b",
  "0011_console": "474e13442e95d2688c671047109af2326065c117af81358941523f149ffebc38",
  "0012_kept_proposals": "175ae5d2348f331cd112e211b581f7f3d72169bddf9efba3ca367858f37694dc",
  "0013_callback_looks": "9613290c494843536a191fcb731c6c0e149f48d2dc1162e90cfcece4e239017d",
  "0015_provider_accounts": "8ea34d1084a79dfeab3f59250e19764d755f13e8c90ee775bec44c884d08104b",
  "0016_float_bounds": "3c91a049b42480995bb2415510ff921fcc1bb8f0fc28b9ebc94b430a64b948e0",
  "0017_callbacks": "f8cc749ed810fa7259d2d94027edfffb132e74d6ef91645252f927fb955f72e5",
  "0019_metadata_members": "1e765cedc186dc25401bcf83112e146a8fc22235f94f83483f5b1bdc7083bdfe",
  "0020_access": "61804ed785b059ea7745c7afd4d440f4b2d79aea2a202f5214d916a140e4553d",
  "0021_clock_watch": "f3d8b274d7047a0d42d9a550aae1f93e1ac61655ec11a6a795c9c73b3df45c3e",
  "0022_sealed_proposals": "3f766987ba47c911c564c29d69a95925805bee69a58d597dcd76bb86663d330a",
  "0024_newer_event_types": "34db25ab5cfe86d5b09b784ab4f9e86fcb705b2e1afbbed691f7f11676f17934",
  "0025_corrections": "ea95c82f3209cffc6b1ae37567a0746a3fe8d258bce7418f7124577c31ddeaf4",
  "0026_revoked_keys": "282e0336b53e813f2c632e1abf983964d811bd25fc2f98f048e3240d2072ade0",
  "0029_recipient_names": "647fa98db0b0c898f43237ea860327157088c40a5e3fac4f2650d2effe83229a",
  "0032_account_sweeps": "16e5696b462044a68650f8b28cc36916fe5707b70516924ed92ff8d7d913942e",
  "0033_senders": "777e7b9fe66e34a127be15b71757d43f71754fb6891aadce7aa0b9c9a37b8138",
  "0043_branches_and_digests": "05b07d2992a6f651d4666b0ad97b05e191ded2f4882ff58e0dc78906e07c41f7"
}

const textOf = (name: string): string => readFileSync(join(import.meta.dirname, "migrations", `${name}.sql`), "utf8")
const checksum = (name: string): Pick<BaseMigration, "checksum"> => {
  const known = released[name]
  return known === undefined ? {} : { checksum: known }
}

/** Of the first release. */
const base = (name: string): Migration => ({ name, ...checksum(name), sql: textOf(name) })
/** A migration that created only functions. */
const emptied = (name: string): Migration => ({ name, ...checksum(name), sql: "" })
/** Applies the file in one short transaction, and then these steps. */
const expand = (name: string, ...after: ReadonlyArray<MigrationStep>): Migration => ({
  name,
  ...checksum(name),
  steps: [{ form: "transaction", sql: textOf(name) }, ...after]
})
/**
 * Columns that later migrations create and functions already use: when the functions are applied before those migrations, a
 * node of the previous release calls them at once.
 */
const NAMED_BY_FUNCTIONS = `ALTER TABLE beneficiaries ADD COLUMN IF NOT EXISTS branch_code text;
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS label text NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS is_reader boolean NOT NULL DEFAULT false,
  ADD COLUMN IF NOT EXISTS addresses text[] NOT NULL DEFAULT '{}',
  ADD COLUMN IF NOT EXISTS last_used_at timestamptz;
ALTER TABLE transactions ADD COLUMN IF NOT EXISTS account_hash bytea;
${textOf("0050_named_endpoints")}`
/** As `expand`, when the columns may exist already. */
const expandOnce = (name: string, ...after: ReadonlyArray<MigrationStep>): Migration => ({
  name,
  ...checksum(name),
  steps: [{ form: "transaction", sql: textOf(name).replaceAll("ADD COLUMN", "ADD COLUMN IF NOT EXISTS") }, ...after]
})
/** As `expand`, and applies the present functions: the following steps need them, or need every node to call them already. */
const expandWithFunctions = (name: string, ...after: ReadonlyArray<MigrationStep>): Migration => ({
  name,
  ...checksum(name),
  steps: [{ form: "transaction", sql: `${textOf(name)}${NAMED_BY_FUNCTIONS}`, withFunctions: true }, ...after]
})

const validate = (table: string, constraint: string): MigrationStep => ({ form: "validate", table, constraint })
const batches = (sql: string): MigrationStep => ({ form: "batches", sql })
const transaction = (sql: string): MigrationStep => ({ form: "transaction", sql })

/** Removes the test event's type from existing subscriptions (0024). */
const SUBSCRIPTIONS = `
WITH page AS MATERIALIZED (
  SELECT app_id, mode, app_id || '/' || mode AS place FROM webhook_endpoints
  WHERE 'webhook.test' = ANY (events) AND $1::text IS NOT NULL ORDER BY app_id, mode LIMIT 500
),
changed AS (
  UPDATE webhook_endpoints w SET subscription = w.events, events = array_remove(w.events, 'webhook.test'),
    subscription_beside = array_remove(w.events, 'webhook.test')
  FROM page p WHERE w.app_id = p.app_id AND w.mode = p.mode AND 'webhook.test' = ANY (w.events)
)
SELECT max(place) AS reached FROM page
`

/** In the order in which they are applied. */
export const migrationList: ReadonlyArray<Migration> = [
  base("0001_ledger"),
  base("0002_requests"),
  base("0003_providers"),
  base("0004_webhooks"),
  base("0005_operators"),
  emptied("0006_arrival"),
  emptied("0007_open_step"),
  emptied("0008_open_steps"),
  emptied("0009_apply_step"),
  base("0010_apply_steps"),
  base("0011_console"),
  base("0012_kept_proposals"),
  expand("0013_callback_looks"),
  expand("0015_provider_accounts"),
  expand("0016_float_bounds", validate("float_positions", "float_within_bounds")),
  expand("0017_callbacks", validate("provider_inbox", "provider_inbox_says_check")),
  expandWithFunctions(
    "0019_metadata_members",
    batches("SELECT fill_metadata_members($1) AS reached"),
    transaction("DROP FUNCTION fill_metadata_members(text)")
  ),
  expand("0020_access"),
  expand("0021_clock_watch"),
  expand("0022_sealed_proposals"),
  expand("0024_newer_event_types", batches(SUBSCRIPTIONS)),
  expand("0025_corrections", batches("SELECT mend_reversed($1) AS reached"), transaction("DROP FUNCTION mend_reversed(text)")),
  expandWithFunctions(
    "0026_revoked_keys",
    batches("SELECT empty_revoked_keys($1) AS reached"),
    transaction("DROP FUNCTION empty_revoked_keys(text)")
  ),
  expand("0029_recipient_names"),
  expand("0032_account_sweeps"),
  expand("0033_senders"),
  expand("0038_functions"),
  expand("0040_denied_parties", validate("denials", "denials_party_check")),
  expandOnce("0043_branches_and_digests"),
  expand("0044_verification_progress"),
  expandOnce("0045_key_terms"),
  expand("0046_float_alerts", {
    form: "index",
    name: "float_positions_alerts",
    table: "float_positions",
    definition: "(app_id) WHERE alert_below_minor IS NOT NULL"
  }),
  // The lists of records walk the journal in order of completion or change. Exchanges are few among all records.
  {
    name: "0047_lists",
    steps: [
      { form: "index", name: "journal_by_tenant_and_time", table: "journal", definition: "(app_id, mode, at)" },
      {
        form: "index",
        name: "exchanges_by_tenant_and_time",
        table: "transactions",
        definition: "(app_id, mode, created_at, reference) WHERE kind = 'exchange' AND created_at > '-infinity'"
      }
    ]
  },
  expand("0048_amount_caps"),
  expandOnce(
    "0049_found_by_number",
    // Both also contain a row's kind, so that no other statement uses them (`transactions_by_tenant_and_time`).
    {
      form: "index",
      name: "transactions_by_party",
      table: "transactions",
      definition: "(app_id, mode, party_hash, created_at, reference) WHERE party_hash IS NOT NULL AND created_at > '-infinity'"
    },
    {
      form: "index",
      name: "transactions_by_account",
      table: "transactions",
      definition:
        "(app_id, mode, account_hash, created_at, reference) WHERE account_hash IS NOT NULL AND created_at > '-infinity'"
    }
  ),
  // Its columns may exist already: NAMED_BY_FUNCTIONS.
  expand("0050_named_endpoints"),
  expand("0053_quote_candidates"),
  expand("0055_changes_checked", {
    form: "index",
    name: "provider_references_by_age",
    table: "provider_references",
    definition: "USING brin (written_at) WITH (pages_per_range = 32, autosummarize = on)"
  }),
  expand("0056_provider_memory"),
  expand("0057_late_calls"),
  expand("0058_period_counts"),
  expand("0062_configuration_proposals", validate("console_proposals", "console_proposals_kind_check")),
  expand("0063_reconciliations"),
  expand("0064_route_preferences"),
  { name: "0065_seeded_networks", steps: [batches(textOf("0065_seeded_networks"))] },
  expand("0067_provider_switches", validate("console_proposals", "console_proposals_kind_check")),
  // Each signed request paid for it, and only the removal of expired nonces read it: the table contains the requests of a few
  // minutes (`NoncesPg`).
  { name: "0068_nonces_without_order", steps: [{ form: "drop", index: "nonces_expiring" }] }
]
