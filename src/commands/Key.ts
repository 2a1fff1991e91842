import { Clock, Effect, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { AppId, Mode } from "../domain/Ids.ts"
import { Role } from "../domain/Tenant.ts"
import { RandomSource } from "../services/ports/RandomSource.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { Vault } from "../services/ports/Vault.ts"
import { appId, mode } from "./Arguments.ts"
import { CommandRefusal, noTenant } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"

const API_KEY_BYTES = 16
const SIGNING_SECRET_BYTES = 32
/** Of a reference's 26 characters, five random bits each: 60 bits, which only have to differ. */
const KEY_ID_LENGTH = 12

const issue = Command.make(
  "issue",
  {
    appId,
    mode,
    role: Flag.Literals("role", Role.literals).pipe(
      Flag.withDefault("tenant"),
      Flag.withDescription("an admin key reads any tenant's records and never moves money")
    )
  },
  Effect.fn(function* ({ appId, mode, role }) {
    yield* printResult(yield* issueKey(appId, mode, role))
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription("Make a key; its two secrets are shown only once"),
  Command.withExamples([
    { command: "gateway key issue shop --mode live --json", description: "Print a new key as `gateway sign` reads it" }
  ])
)

const revoke = Command.make(
  "revoke",
  { appId, keyId: Argument.String("KEY_ID").pipe(Argument.withDescription("the key, as `key issue` printed it")) },
  Effect.fn(function* ({ appId, keyId }) {
    const tenants = yield* Tenants
    const at = yield* Clock.currentTimeMillis
    const revoked = yield* tenants.revokeKey(appId, keyId, at, yield* auditEntry("key revoke", `${appId}/${keyId}`, {}))
    if (!revoked)
      return yield* new CommandRefusal({ message: `the tenant ${appId} has no key ${keyId}, or it is revoked already` })
    yield* printResult({ revoked: true })
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription("Revoke a key; every node refuses it within a second"),
  Command.withExamples([{ command: "gateway key revoke shop k_AAA688MG9KT6", description: "Revoke a key" }])
)

export const key = Command.make("key").pipe(
  Command.withDescription("Keys, with which tenants sign their requests"),
  Command.withSubcommands([issue, revoke])
)

/** Refused when there is no such tenant. The answer holds the two secrets in the clear: it is the only time. */
export const issueKey = Effect.fn("issueKey")(function* (appId: AppId, mode: Mode, role: Role) {
  const randomSource = yield* RandomSource
  const vault = yield* Vault
  const tenants = yield* Tenants
  const hex = (bytes: number) => Effect.map(randomSource.secret(bytes), (secret) => Buffer.from(secret).toString("hex"))
  const keyId = `k_${(yield* randomSource.reference).slice(0, KEY_ID_LENGTH)}`
  const apiKey = `ak_${yield* hex(API_KEY_BYTES)}`
  const signingSecret = `ss_${yield* hex(SIGNING_SECRET_BYTES)}`
  const issued = yield* tenants.issueKey(
    {
      caller: { appId, keyId, mode, role },
      apiKeyHash: vault.hash("api_key", Redacted.make(apiKey)),
      signingSecret: Redacted.make(signingSecret),
      createdAt: yield* Clock.currentTimeMillis
    },
    yield* auditEntry("key issue", `${appId}/${keyId}`, { mode, role })
  )
  if (!issued) return yield* noTenant(appId)
  return { app_id: appId, key_id: keyId, api_key: apiKey, signing_secret: signingSecret, mode, role }
})
