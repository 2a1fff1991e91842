import { Effect, Layer, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { AppId, Mode } from "../domain/Ids.ts"
import { Role } from "../domain/Tenant.ts"
import { TenantKeys } from "../services/tenants/TenantKeys.ts"
import { appId, mode } from "./Arguments.ts"
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
    role: Flag.Literals("role", Role.literals).pipe(
      Flag.withDefault("tenant"),
      Flag.withDescription("an admin key reads any tenant's records and changes nothing")
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
    const { revoke } = yield* TenantKeys
    yield* revoke(appId, keyId, yield* bySystemUser).pipe(
      Effect.catchTag("NotRevoked", ({ message }) => Effect.fail(new CommandRefusal({ message })))
    )
    yield* printResult({ revoked: true })
  }, Effect.provide(keyPorts))
).pipe(
  Command.withDescription("Revoke a key; every node refuses it within a second"),
  Command.withExamples([{ command: "gateway key revoke shop k_AAA688MG9KT6", description: "Revoke a key" }])
)

export const key = Command.make("key").pipe(
  Command.withDescription("Keys, with which tenants sign their requests"),
  Command.withSubcommands([issue, revoke])
)

/** Refused when there is no such tenant. The answer holds the two secrets in the clear: it is the only time. */
export const issueKey = Effect.fn("issueKey")(
  function* (appId: AppId, mode: Mode, role: Role) {
    const keys = yield* TenantKeys
    const caller = { appId, keyId: yield* keys.newKeyId, mode, role }
    const { apiKey, signingSecret } = yield* keys.issue(caller, yield* bySystemUser)
    return {
      app_id: appId,
      key_id: caller.keyId,
      api_key: Redacted.value(apiKey),
      signing_secret: Redacted.value(signingSecret),
      mode,
      role
    }
  },
  Effect.catchTag("NoSuchTenant", ({ appId }) => Effect.fail(noTenant(appId))),
  Effect.provide(TenantKeys.layer)
)
