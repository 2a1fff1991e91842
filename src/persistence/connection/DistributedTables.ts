/** Distributed by app_id, so that all rows of one tenant are on one server. A table comes after those that it refers to. */
export const tenantTables = [
  "tenants",
  "api_keys",
  "nonces",
  "idempotency_keys",
  "limits",
  "amount_caps",
  "counters",
  "payer_locks",
  "charge_codes",
  "code_requests",
  "sent_codes",
  "fx_quotes",
  "transactions",
  "metadata_members",
  "provider_references",
  "open_work",
  "journal",
  "float_positions",
  "float_adjustments",
  "beneficiaries",
  "webhook_endpoints",
  "webhook_flights",
  "events",
  "deliveries",
  "due_deliveries",
  "delivery_attempts",
  "named_endpoints",
  "named_flights",
  "named_deliveries",
  "named_due_deliveries",
  "tenant_changes"
] as const

/**
 * The tables that stay on the coordinator, and why. The coordinator plans every statement, so nothing works without it in any
 * case, and its tables depend on no other server. A reference table would have to be written on every server, so that no
 * corridor could be switched off while one of them is down.
 */
export const coordinatorTables: Readonly<Record<string, string>> = {
  schema_migrations: "says what the schema is",
  schema_functions: "says which functions the schema has",
  tenant_directory: "says which tenants there are while their server is down",
  corridors: "common to all tenants, kept in memory by every gateway",
  provider_switches: "common to all tenants, kept in memory by every gateway",
  ceilings: "common to all tenants, kept in memory by every gateway",
  denials: "common to all tenants",
  account_claims: "a row for each of the gateway's own accounts, read when a process begins",
  account_sweeps: "a row for each of the gateway's own accounts",
  late_calls: "what nodes tell each other while calls to a provider are late",
  provider_memory: "the gateway's own tokens, and answers of providers until they are asked for",
  provider_inbox: "callbacks, before anybody knows whose they are: they are stored while a server is down",
  audit_log: "one chain over all tenants",
  audit_head: "the lock and the end of that chain",
  vault_keys: "keys of the gateway itself",
  integrity_checks: "one row a check",
  period_counts: "common to all tenants, and names none",
  route_counts: "common to all tenants, and names none",
  route_orders: "a row for each corridor and network whose providers are ordered by their success",
  reconciliations: "one row a provider and day",
  verification_progress: "one row",
  position_folds: "written and read by ledger verify alone, and not on Citus",
  changes_checked: "one row",
  kept_since: "says since when everything is kept",
  events_kept: "says since when everything is kept",
  clock_watch: "says how far the clock is trusted by which rows are removed",
  operators: "the console's",
  removed_operators: "the console's",
  revoked_keys: "keys that nobody can make valid again, which a right to one column keeps nowhere else",
  console_sessions: "the console's",
  console_failures: "the console's",
  console_proposals: "the console's"
}

/**
 * Written in the commit of every audited change. Citus must know this table: it would commit a write to an unknown table after
 * the other server's part, and a crash in between would leave money moved without its audit row. For a known table both are one
 * two-phase commit.
 */
export const auditHead = "audit_head"

/** The app_id in `counters` of a window that all tenants share. */
export const SHARED = ""

/** The functions that Citus delegates to the server of one tenant, and the parameter that names the tenant. */
export const tenantFunctions: Readonly<Record<string, string>> = {
  // From the previous release.
  arrive_requests_of_tenant: "p_app",
  arrive_together_of_tenant: "p_app",
  spend_nonces_of_tenant: "p_app",
  open_step_of_tenant: "p_app_id",
  open_steps_of_tenant: "p_app",
  apply_step_of_tenant: "p_app_id",
  apply_steps_of_tenant: "p_app"
}
