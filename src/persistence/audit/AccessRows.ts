import { createHash } from "node:crypto"
import { Effect, Exit, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { AppId, Mode } from "../../domain/Ids.ts"
import { maskedText } from "../../domain/Masking.ts"
import { OperatorName, OperatorRole } from "../../domain/Operator.ts"
import { KeyTerms, Role } from "../../domain/Tenant.ts"
import type { AccessDifference } from "../../services/ports/AuditLog.ts"
import type { Vault } from "../../services/ports/Vault.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { fits, keySeal, operatorSeal, secretOf } from "../vault/AccessSeals.ts"
import { denialName, denialText, keyText, proposalName, proposalText, tenantText } from "./AccessReplay.ts"

// The permissions according to the tables. Their texts are not validated: a damaged row is reported, and stops nothing.

const keyRows = rowsOf(
  Schema.Struct({
    appId: AppId,
    keyId: Schema.String,
    mode: Mode,
    role: Role,
    ...KeyTerms.fields,
    apiKeyHash: Schema.Uint8Array,
    signingSecretSealed: Schema.Uint8Array,
    accessSeal: Schema.NullOr(Schema.Uint8Array),
    createdAt: Moment,
    isRevoked: Schema.Boolean
  })
)
const operatorRows = rowsOf(
  Schema.Struct({
    name: OperatorName,
    role: OperatorRole,
    tokenHash: Schema.Uint8Array,
    accessSeal: Schema.NullOr(Schema.Uint8Array),
    createdAt: Moment
  })
)
const tenantRows = rowsOf(
  Schema.Struct({
    appId: Schema.String,
    status: Schema.String,
    capabilities: Schema.Array(Schema.String),
    pinned: Schema.String,
    repeatSales: Schema.String
  })
)
const namedRows = rowsOf(Schema.Struct({ name: Schema.String, text: Schema.String }))
const denialRows = rowsOf(
  Schema.Struct({
    kind: Schema.String,
    party: Schema.NullOr(Schema.String),
    masked: Schema.String,
    reason: Schema.String,
    hash: Schema.String,
    createdAt: Moment
  })
)
const corridorRows = rowsOf(
  Schema.Struct({ name: Schema.String, row: Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)) })
)
const proposalRows = rowsOf(
  Schema.Struct({
    kind: Schema.String,
    subject: Schema.String,
    details: Schema.String,
    proposedBy: Schema.String,
    proposedAt: Moment,
    status: Schema.String,
    decidedBy: Schema.String
  })
)

/**
 * One row as it is. `shown`: its text for display; `is`: whether it matches the text from the log. A row that needs a seal also
 * says whether it has a valid one.
 */
interface AccessRow {
  readonly name: string
  readonly shown: string
  readonly is: (said: string) => boolean
  readonly isSealed: boolean
}

/** The keys that are not revoked, whether each has its seal, and the seal that it should have. */
export const keys = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, vault: Vault["Service"]) {
  const rows = yield* keyRows(sql`
    SELECT app_id AS "appId", key_id AS "keyId", mode, CASE WHEN is_reader THEN 'reader' ELSE role END AS role, label, addresses,
      api_key_hash AS "apiKeyHash", signing_secret_sealed AS "signingSecretSealed", access_seal AS "accessSeal", created_at AS "createdAt", revoked_at IS NOT NULL AS "isRevoked" FROM api_keys ORDER BY app_id, key_id`)
  return yield* Effect.forEach(
    rows,
    ({ accessSeal, addresses, apiKeyHash, createdAt, isRevoked, label, signingSecretSealed, ...caller }) =>
      Effect.map(
        Effect.exit(Effect.suspend(() => vault.open(secretOf(caller.appId, caller.keyId), signingSecretSealed))),
        (opened) => {
          const seal = Exit.isSuccess(opened)
            ? keySeal(vault.hash, { caller, label, addresses, createdAt, apiKeyHash, signingSecret: opened.value })
            : null
          const text = keyText({ ...caller, label, from: addresses.join(","), isRevoked })
          return {
            caller,
            isRevoked,
            text,
            seal,
            hasSeal: accessSeal !== null,
            isSealed: seal !== null && fits(accessSeal, seal)
          }
        }
      )
  )
})

/** The operators of the console, in the same form. */
export const operators = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, vault: Vault["Service"]) {
  const rows = yield* operatorRows(sql`
    SELECT name, role, token_hash AS "tokenHash", access_seal AS "accessSeal", created_at AS "createdAt" FROM operators ORDER BY name`)
  return rows.map(({ accessSeal, ...account }) => {
    const seal = operatorSeal(vault.hash, account)
    return { name: account.name, role: account.role, seal, hasSeal: accessSeal !== null, isSealed: fits(accessSeal, seal) }
  })
})

const row = (name: string, shown: string, isSealed = true): AccessRow => ({ name, shown, is: (said) => said === shown, isSealed })

/** Every row of every table that grants access. */
export const readAccess = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, vault: Vault["Service"]) {
  const tenants = yield* tenantRows(sql`SELECT app_id AS "appId", status, capabilities, coalesce(pinned_provider, '') AS pinned,
    CASE WHEN repeat_sales THEN 'allow' ELSE 'refuse' END AS "repeatSales" FROM tenants ORDER BY app_id`)
  const limits = yield* namedRows(
    sql`SELECT 'limit ' || concat_ws('/', app_id, mode, direction, window_name) AS name, count::text AS text FROM limits`
  )
  const caps = yield* namedRows(
    sql`SELECT 'cap ' || concat_ws('/', app_id, mode, direction, window_name, currency) AS name, amount_minor::text AS text FROM amount_caps`
  )
  const ceilings = yield* namedRows(
    sql`SELECT 'ceiling ' || provider || '/' || currency AS name, amount_minor::text AS text FROM ceilings`
  )
  const switches = yield* namedRows(
    sql`SELECT 'switch provider/' || provider AS name, CASE WHEN is_off THEN 'off' ELSE 'on' END AS text FROM provider_switches`
  )
  const denials = yield* denialRows(
    sql`SELECT kind, party, masked, reason, encode(hash, 'hex') AS hash, created_at AS "createdAt" FROM denials`
  )
  const corridors = yield* corridorRows(
    sql`SELECT 'corridor ' || concat_ws('/', country, currency, direction, method) AS name, to_json(c)::text AS row FROM corridors c`
  )
  const proposals =
    yield* proposalRows(sql`SELECT kind, subject, details, proposed_by AS "proposedBy", proposed_at AS "proposedAt", status,
    coalesce(decided_by, '') AS "decidedBy" FROM console_proposals`)
  return [
    ...(yield* operators(sql, vault)).map(({ isSealed, name, role }) => row(`operator ${name}`, role, isSealed)),
    ...(yield* keys(sql, vault)).map(({ caller: { appId, keyId }, isRevoked, isSealed, text }) =>
      row(`key ${appId}/${keyId}`, text, isRevoked || isSealed)
    ),
    ...tenants.map((one) => row(`tenant ${one.appId}`, tenantText(one))),
    ...[...limits, ...caps, ...ceilings, ...switches].map(({ name, text }) => row(name, text)),
    ...denials.map(({ createdAt, hash, kind, masked, party, reason: written }) => {
      // Earlier releases masked the reason in the log only.
      const reason = maskedText(written)
      const texts = [denialText(reason, party === null ? { hash } : { hash, party }), ...(party === null ? [reason] : [])]
      return { ...row(denialName(kind, masked, createdAt), texts[0] ?? ""), is: (said: string) => texts.includes(said) }
    }),
    ...corridors.map(({ name, row: columns }) => ({ ...row(name, JSON.stringify(columns)), is: hasColumns(columns) })),
    ...proposals.map(({ details, kind, proposedAt, subject, ...people }) => {
      const proposed = createHash("sha256").update(details, "utf8").digest("hex")
      const texts = [proposalText({ ...people, proposed }), proposalText({ ...people, proposed: undefined })]
      return { ...row(proposalName(kind, subject, proposedAt), texts[0] ?? ""), is: (said: string) => texts.includes(said) }
    })
  ] satisfies ReadonlyArray<AccessRow>
})

const decodeColumns = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

/** Older rows of the log lack newer columns. Amounts are texts there and numbers here, and times have two spellings. */
const hasColumns =
  (columns: Readonly<Record<string, unknown>>) =>
  (said: string): boolean =>
    Object.entries(decodeColumns(said)).every(([name, value]) => spelled(name, columns[name]) === spelled(name, value))

const spelled = (name: string, value: unknown): string => {
  if (name.endsWith("_at") && typeof value === "string") return String(Date.parse(value))
  return JSON.stringify(name.endsWith("_minor") && value !== null ? String(value) : value)
}

/** Where the tables and the log disagree. A corridor that no operator has set is as a migration created it. */
export const accessDifferences = (
  said: ReadonlyMap<string, string>,
  rows: ReadonlyArray<AccessRow>
): ReadonlyArray<AccessDifference> => {
  const found = new Set(rows.map(({ name }) => name))
  const gone = [...said].filter(([name]) => !found.has(name))
  return [
    ...rows.flatMap(({ is, isSealed, name, shown }) => {
      const text = said.get(name)
      const isNobodys = text === undefined && !name.startsWith("corridor ")
      return [
        ...(isNobodys ? [{ subject: name, found: `it is there (${shown}), and no audit row made it` }] : []),
        ...(text === undefined || is(text) ? [] : [{ subject: name, found: `it is ${shown}, the audit log says ${text}` }]),
        ...(isSealed ? [] : [{ subject: name, found: "its seal is not one that a gateway made for this row" }])
      ]
    }),
    ...gone.map(([name, text]) => ({ subject: name, found: `it is not there, the audit log says ${text}` }))
  ]
}
