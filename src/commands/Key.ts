import { Effect, Layer, Option, Redacted, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AddressRange, MAX_ADDRESS_RANGES } from "../domain/AddressRange.ts"
import type { AppId, Mode } from "../domain/Ids.ts"
import { iso, isoOrNull } from "../domain/Instant.ts"
import { type KeyTerms, MAX_LABEL, noTerms, Role } from "../domain/Tenant.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { TenantKeys } from "../services/tenants/TenantKeys.ts"
import { appId, CommaList, choice, flag, help, mode, words } from "./Arguments.ts"
import { CommandRefusal, noTenant } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { bySystemUser } from "./Operator.ts"
import { printResult } from "./Output.ts"

const keyPorts = Layer.provideMerge(TenantKeys.layer, operatorPorts)

const issue = Command.make(
  "issue",
  {
    appId,
    mode,
    role: choice(
      "role",
      Role.literals,
      "tenant signs everything; reader only reads, for a person or a program that must not pay; admin is an operator: reads every tenant, changes nothing"
    ).pipe(Flag.withDefault("tenant")),
    label: words("label", MAX_LABEL, "who or what it is for, as `key list` shows it").pipe(Flag.withDefault(noTerms.label)),
    from: flag(
      "from",
      CommaList(AddressRange).check(Schema.isMaxLength(MAX_ADDRESS_RANGES)),
      "the addresses and networks that it may be used from, with commas between them; from anywhere if left out"
    ).pipe(Flag.withDefault(noTerms.addresses))
  },
  Effect.fn(function* ({ appId, from, label, mode, role }) {
    yield* printResult(yield* issueKey(appId, mode, role, { label, addresses: from }))
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Make a key; its two secrets are shown only once",
    ["gateway key issue shop --mode live --json", "Print a new key as `gateway sign` reads it"],
    [
      "gateway key issue shop --mode live --role reader --label erp --from 10.0.0.0/8",
      "Let the bookkeeping read, from its own network"
    ]
  )
)

const list = Command.make(
  "list",
  { appId },
  Effect.fn(function* ({ appId }) {
    const { find, keys } = yield* Tenants
    if (Option.isNone(yield* find(appId))) return yield* noTenant(appId)
    const rows = yield* keys(appId)
    yield* printResult(
      rows.map(({ addresses, createdAt, keyId, label, lastUsedAt, mode, revokedAt, role }) => ({
        key_id: keyId,
        mode,
        role,
        label,
        from: addresses,
        created_at: iso(createdAt),
        last_used_at: isoOrNull(lastUsedAt),
        revoked_at: isoOrNull(revokedAt)
      }))
    )
  }, Effect.provide(operatorPorts))
).pipe(
  help("A tenant's keys, the oldest first; the last use is the hour in which it began", [
    "gateway key list shop",
    "Who has a key, and which is not used any more"
  ])
)

const revoke = Command.make(
  "revoke",
  { appId, keyId: Argument.String("KEY_ID").pipe(Argument.withDescription("the key, as `key issue` printed it")) },
  Effect.fn(function* ({ appId, keyId }) {
    const { revoke } = yield* TenantKeys
    yield* revoke(appId, keyId, yield* bySystemUser).pipe(
      Effect.catchTag("NotRevoked", ({ message }) => Effect.fail(new CommandRefusal(message)))
    )
    yield* printResult({ revoked: true })
  }, Effect.provide(keyPorts))
).pipe(help("Revoke a key; every node refuses it within a second", ["gateway key revoke shop k_AAA688MG9KT6", "Revoke a key"]))

export const key = Command.make("key").pipe(
  help("Keys, with which tenants sign their requests"),
  Command.withSubcommands([issue, list, revoke])
)

/** Refused when there is no such tenant. The answer contains the two secrets in clear text, this one time only. */
export const issueKey = Effect.fn("issueKey")(
  function* (appId: AppId, mode: Mode, role: Role, terms: KeyTerms = noTerms) {
    const keys = yield* TenantKeys
    const caller = { appId, keyId: yield* keys.newKeyId, mode, role }
    const { addresses, apiKey, label, signingSecret } = yield* keys.issue({ ...terms, caller }, yield* bySystemUser)
    return {
      app_id: appId,
      key_id: caller.keyId,
      api_key: Redacted.value(apiKey),
      signing_secret: Redacted.value(signingSecret),
      mode,
      role,
      ...(label === "" ? {} : { label }),
      ...(addresses.length === 0 ? {} : { from: addresses })
    }
  },
  Effect.catchTag("NoSuchTenant", ({ appId }) => Effect.fail(noTenant(appId))),
  Effect.provide(TenantKeys.layer)
)
