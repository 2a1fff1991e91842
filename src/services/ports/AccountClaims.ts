import { Context, type Effect } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import type { AccountFingerprint } from "../../domain/ProviderAccount.ts"

/** By which account of a provider records were sent that keep none, because they were made before accounts were kept. */
export class AccountClaims extends Context.Service<
  AccountClaims,
  {
    /**
     * Keeps these fingerprints as those of the account in whose name such records were sent, unless some are kept for the provider and mode
     * already: the first claim stands for ever. Answers those that are kept.
     */
    readonly claim: (
      provider: string,
      mode: Mode,
      fingerprints: ReadonlyArray<AccountFingerprint>
    ) => Effect.Effect<ReadonlyArray<AccountFingerprint>>
  }
>()("gateway/services/ports/AccountClaims") {}
