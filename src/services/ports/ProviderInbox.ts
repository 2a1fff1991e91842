import { Context, type Effect } from "effect"
import type { Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"

/** What a verified callback points at. It is never believed, only asked about. */
export interface Hint {
  readonly reference: Reference | null
  readonly providerReference: string | null
}

export interface Callback {
  readonly id: Reference
  readonly provider: string
  readonly mode: Mode
  readonly receivedAt: Instant
  /** SHA-256 of the bytes: the same callback again is the same row. */
  readonly digest: Uint8Array
  readonly hint: Hint
}

/** Callbacks of providers, stored before they are answered. */
export class ProviderInbox extends Context.Service<
  ProviderInbox,
  {
    /** False when the same bytes came before. */
    readonly store: (callback: Callback) => Effect.Effect<boolean>
    /** Takes up to `limit` that wait to be looked at, for `leaseMs`. */
    readonly claimDue: (now: Instant, limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<Callback>>
    readonly done: (id: Reference, reference: Reference) => Effect.Effect<void>
    /** Nothing matched, or the provider did not answer: look again at `at`; null parks it for a person. */
    readonly later: (id: Reference, at: Instant | null) => Effect.Effect<void>
  }
>()("gateway/services/ports/ProviderInbox") {}
