import { Context, Data, Effect, Redacted } from "effect"
import type { AppId } from "../../domain/Ids.ts"
import { maskedText } from "../../domain/Masking.ts"
import { apiKeyPurpose, type Caller, type KeyTerms } from "../../domain/Tenant.ts"
import { MessageError } from "../../runtime/MessageError.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditBy } from "../ports/AuditLog.ts"
import { RandomSource } from "../ports/RandomSource.ts"
import { Tenants } from "../ports/Tenants.ts"
import { Vault } from "../ports/Vault.ts"

/** There is no such tenant. Nothing was written. */
export class NoSuchTenant extends Data.TaggedError("NoSuchTenant")<{ readonly appId: AppId }> {}

const API_KEY_BYTES = 16
const SIGNING_SECRET_BYTES = 32
/** Of a reference's 26 characters with five random bits each: 60 bits, which only need to be unique. */
const KEY_ID_LENGTH = 12

/** A new key and its two secrets, which are stored nowhere in plain text and shown only now. */
export interface IssuedKey extends KeyTerms {
  readonly caller: Caller
  readonly apiKey: Redacted.Redacted
  readonly signingSecret: Redacted.Redacted
}

/** Why no key was revoked: one line for the operator. */
class NotRevoked extends MessageError("NotRevoked") {}

/** The tenants' API keys, issued and revoked from the command line and the console. */
export class TenantKeys extends Context.Service<
  TenantKeys,
  {
    /** An id for a key that will be issued. */
    readonly newKeyId: Effect.Effect<string>
    /** Issues the key, with its audit row. A second key with the same id is a defect. A number in the label is masked. */
    readonly issue: (wish: KeyTerms & { readonly caller: Caller }, by: AuditBy) => Effect.Effect<IssuedKey, NoSuchTenant>
    /** Revokes a key, with its audit row. Refused when there is no such key or it is already revoked. */
    readonly revoke: (appId: AppId, keyId: string, by: AuditBy) => Effect.Effect<void, NotRevoked>
  }
>()("gateway/services/tenants/TenantKeys") {
  static readonly layer = layerOf(TenantKeys)(function* () {
    const randomSource = yield* RandomSource
    const vault = yield* Vault
    const tenants = yield* Tenants

    const hex = (bytes: number) => Effect.map(randomSource.secret(bytes), (secret) => Buffer.from(secret).toString("hex"))

    return {
      newKeyId: Effect.map(randomSource.reference, (reference) => `k_${reference.slice(0, KEY_ID_LENGTH)}`),

      issue: Effect.fn("TenantKeys.issue")(function* ({ caller, ...terms }, { actor, at, details }) {
        const { appId, keyId, mode, role } = caller
        const { addresses, label } = { ...terms, label: maskedText(terms.label) }
        const apiKey = Redacted.make(`ak_${yield* hex(API_KEY_BYTES)}`)
        const signingSecret = Redacted.make(`ss_${yield* hex(SIGNING_SECRET_BYTES)}`)
        const issued = yield* tenants.issueKey(
          { caller, label, addresses, apiKeyHash: vault.hash(apiKeyPurpose(role, terms), apiKey), signingSecret, createdAt: at },
          {
            at,
            actor,
            action: "key issue",
            subject: `${appId}/${keyId}`,
            details: {
              mode,
              role,
              ...(label === "" ? {} : { label }),
              ...(addresses.length === 0 ? {} : { from: addresses.join(",") }),
              ...details
            }
          }
        )
        if (!issued) return yield* new NoSuchTenant({ appId })
        return { caller, label, addresses, apiKey, signingSecret }
      }),

      revoke: Effect.fn("TenantKeys.revoke")(function* (appId, keyId, { actor, at, details = {} }) {
        const audit = { at, actor, action: "key revoke", subject: `${appId}/${keyId}`, details }
        if (yield* tenants.revokeKey(appId, keyId, at, audit)) return
        return yield* new NotRevoked(`the tenant ${appId} has no key ${keyId}, or it is revoked already`)
      })
    }
  })
}
