import { Context, type Effect } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import type { AccountFingerprint } from "../../domain/ProviderAccount.ts"

/** Old records do not say which provider account sent them: this port stores that account, by its fingerprints. */
export class AccountClaims extends Context.Service<
  AccountClaims,
  {
    /**
     * Stores these fingerprints for the records of this provider and mode that name no account. The first claim stands for
     * ever: when one is stored already, nothing changes. Returns the stored fingerprints.
     */
    readonly claim: (
      provider: string,
      mode: Mode,
      fingerprints: ReadonlyArray<AccountFingerprint>
    ) => Effect.Effect<ReadonlyArray<AccountFingerprint>>
  }
>()("gateway/services/ports/AccountClaims") {}
