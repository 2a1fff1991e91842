import { Context, type Effect, type Option } from "effect"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { AccountFingerprint } from "../../domain/ProviderAccount.ts"
import type { WindowUse } from "../../domain/VelocityLimits.ts"
import type { Claim } from "./Idempotency.ts"

/** An attempt to submit a code to the provider. */
export interface CodeAttempt {
  readonly appId: AppId
  readonly mode: Mode
  readonly reference: Reference
  /** The keyed HMAC of the code; the code itself is never stored. */
  readonly codeHash: Uint8Array
  readonly partyHash: Uint8Array
  /** The last charge that the guard found for this number. The attempt is refused when another one has been placed since. */
  readonly holder: Reference | null
  /** The request's idempotency key, which is linked to the transaction from here on; null when the request had none. */
  readonly claim: Claim | null
  readonly at: Instant
  readonly leaseMs: number
  /** How many wrong codes a transaction allows. */
  readonly wrongAtMost: number
}

export type CodeAttemptOutcome =
  /** Only this request may submit a code of the transaction while the lease lasts. `wrong`: how many codes were wrong before. */
  | { readonly _tag: "Leased"; readonly wrong: number }
  /** Another request is submitting a code now. */
  | { readonly _tag: "Busy" }
  /** A code was submitted and its answer was lost: a charge may have been placed. */
  | { readonly _tag: "Unheard" }
  /** The same code was wrong before. It is not submitted again and does not count. */
  | { readonly _tag: "KnownWrong"; readonly wrong: number }
  | { readonly _tag: "Spent" }
  /** The transaction no longer waits for a code. */
  | { readonly _tag: "Moved" }
  | { readonly _tag: "Frozen" }
  /** Another charge of this number was placed in the meantime. */
  | { readonly _tag: "PayerBusy" }

/**
 * `free`: no code was ever submitted. `wrong`: every submitted code was rejected. `leased`: one is being submitted. `unheard`:
 * one was submitted and its answer was lost, so a charge may have been placed.
 */
export type CodeState = "free" | "wrong" | "leased" | "unheard"

export interface TextedNumber {
  readonly appId: AppId
  readonly mode: Mode
  readonly partyHash: Uint8Array
}

/** A code that is about to be sent to a payer. It is identified by its time and the tenant's windows. */
export interface CountedCode extends TextedNumber {
  readonly at: Instant
  readonly counters: ReadonlyArray<WindowUse>
}

/** How many codes may be sent to one number within `windowMs`. */
export interface CodeBounds {
  readonly perNumber: number
  readonly windowMs: number
}

export type SendQuotaOutcome =
  | { readonly _tag: "Granted" }
  /** The number has reached its limit; the next code may be sent at `freeAt`. */
  | { readonly _tag: "NumberFull"; readonly freeAt: Instant }
  /** The tenant's window is full. */
  | { readonly _tag: "TenantFull"; readonly counter: WindowUse }

export interface SentCode extends TextedNumber {
  /** The provider's handle of the code. */
  readonly pinId: string
  /** The fingerprint of the provider account that sent it; null when unknown. */
  readonly account: AccountFingerprint | null
}

/**
 * One-time codes (OTP) of charges that wait for one: who may submit a code, how many were sent or wrong, and to which number a
 * code belongs. Codes are stored as keyed hashes only.
 *
 * Concurrency: at most one code of a transaction is at the provider at a time. `begin` takes a lease on the transaction and on
 * the payer's lock in one commit. When a node dies, its lease ends as `unheard`: a charge may have been placed, so nothing is
 * sent again. Refusals are results, never errors; a broken database is a defect.
 */
export class Codes extends Context.Service<
  Codes,
  {
    /** Leases the transaction for one code, or returns why not. Writes nothing unless it returns `Leased`. */
    readonly begin: (attempt: CodeAttempt) => Effect.Effect<CodeAttemptOutcome>
    /**
     * The provider rejected the code as wrong. Counts it, releases the transaction and the payer, and forgets the idempotency
     * key. The charge is still listed by the guard, because the provider may show it later. Returns the number of wrong codes;
     * a repeated code counts once.
     */
    readonly wrong: (
      attempt: Pick<CodeAttempt, "appId" | "mode" | "reference" | "codeHash" | "partyHash" | "claim">
    ) => Effect.Effect<number>
    /** The code of `begin` was not submitted. Releases the transaction and the payer, and forgets the idempotency key. */
    readonly unsaid: (attempt: Pick<CodeAttempt, "appId" | "mode" | "reference" | "partyHash" | "claim">) => Effect.Effect<void>
    /** The keyed HMAC of the number to charge; none once it was deleted, or when there is no such transaction. */
    readonly partyHash: (reference: Reference) => Effect.Effect<Option.Option<Uint8Array>>
    /**
     * Closes a transaction to codes once its window has passed. `free` and `wrong` mean that no code is being submitted and
     * none can be any more; after `free` nothing was placed and nothing will be. With any other result nothing changes.
     */
    readonly close: (reference: Reference, at: Instant) => Effect.Effect<CodeState>
    /** Reads only: whether a code of the charge was submitted. `free` as well when there is no such transaction. */
    readonly stateOf: (reference: Reference, at: Instant) => Effect.Effect<CodeState>
    /**
     * Counts a code that is about to be sent: for its number, across purposes and both modes, and in the tenant's windows, all
     * in one commit. When any limit is reached, nothing is counted.
     */
    readonly request: (code: CountedCode, bounds: CodeBounds) => Effect.Effect<SendQuotaOutcome>
    /** The code was provably not sent, so it is not counted. Takes effect once per code, and only while it counts. */
    readonly unsent: (code: CountedCode) => Effect.Effect<void>
    /** Records to which number the code was sent. Only a recorded code can be submitted. */
    readonly sent: (code: SentCode, at: Instant) => Effect.Effect<void>
    /**
     * The account that sent this code to this number for this tenant and mode; none when no account did. Null when the code was
     * sent before accounts were stored.
     */
    readonly sentBy: (code: Omit<SentCode, "account">) => Effect.Effect<Option.Option<AccountFingerprint | null>>
  }
>()("gateway/services/ports/Codes") {}
