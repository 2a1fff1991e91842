import { Context, type Effect, type Option } from "effect"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { AccountFingerprint } from "../../domain/ProviderAccount.ts"
import type { WindowUse } from "../../domain/VelocityLimits.ts"
import type { Claim } from "./Idempotency.ts"

/** One code on its way to the provider. */
export interface CodeAttempt {
  readonly appId: AppId
  readonly mode: Mode
  readonly reference: Reference
  /** The keyed HMAC of the code; the code itself is never stored. */
  readonly codeHash: Uint8Array
  readonly partyHash: Uint8Array
  /** The charge that the guard found last for this number: it must still be the last one. */
  readonly holder: Reference | null
  /** The request's key, pinned to the transaction from here on; null where it sent none. */
  readonly claim: Claim | null
  readonly at: Instant
  readonly leaseMs: number
  /** How many wrong codes a transaction may hear. */
  readonly wrongAtMost: number
}

export type CodeAttemptOutcome =
  /** No other request sends a code for this transaction while the lease lasts. `wrong`: how many were wrong before. */
  | { readonly _tag: "Leased"; readonly wrong: number }
  /** Another request sends a code right now. */
  | { readonly _tag: "Busy" }
  /** One was sent, and its answer was lost: a charge may have been placed. */
  | { readonly _tag: "Unheard" }
  /** This very code was wrong before: it is not sent again and costs nothing. */
  | { readonly _tag: "KnownWrong"; readonly wrong: number }
  | { readonly _tag: "Spent" }
  /** The transaction does not wait for a code any more. */
  | { readonly _tag: "Moved" }
  | { readonly _tag: "Frozen" }
  /** Another charge of the number was placed meanwhile. */
  | { readonly _tag: "PayerBusy" }

/**
 * No code was ever said; each that was said was called wrong; one is on its way; or one was, and its answer was lost: a charge may have been
 * placed.
 */
export type CodeState = "free" | "wrong" | "leased" | "unheard"

export interface TextedNumber {
  readonly appId: AppId
  readonly mode: Mode
  readonly partyHash: Uint8Array
}

/** A code that is about to be sent, known by its moment and the windows of its tenant. */
export interface CountedCode extends TextedNumber {
  readonly at: Instant
  readonly counters: ReadonlyArray<WindowUse>
}

/** How many codes a number may be sent within `windowMs`. */
export interface CodeBounds {
  readonly perNumber: number
  readonly windowMs: number
}

export type SendQuotaOutcome =
  | { readonly _tag: "Granted" }
  /** The number has had its codes; the next one may be sent from `freeAt` on. */
  | { readonly _tag: "NumberFull"; readonly freeAt: Instant }
  /** The tenant's window is full. */
  | { readonly _tag: "TenantFull"; readonly counter: WindowUse }

export interface SentCode extends TextedNumber {
  /** The provider's handle of it. */
  readonly pinId: string
  /** The fingerprint of the account that sent it; null where it is unknown. */
  readonly account: AccountFingerprint | null
}

/**
 * One-time codes (OTP) of charges that wait for one: who may send one, how many were sent or wrong, and whose number they belong to. Codes are
 * kept as keyed hashes only.
 *
 * Concurrency: one code of a transaction is at the provider at a time. `begin` takes it under a lease and pins the payer's lock in the same
 * commit; a node that dies leaves a lease that runs out as "unheard", which means that a charge may have been placed. Nothing is sent again
 * because of that. Refusals are results, never errors; a broken database is a defect.
 */
export class Codes extends Context.Service<
  Codes,
  {
    /** Takes the transaction for one code, or says why not. Writes nothing unless it answers `Leased`. */
    readonly begin: (attempt: CodeAttempt) => Effect.Effect<CodeAttemptOutcome>
    /**
     * The provider said that the code is wrong. Counts it, gives transaction and payer free, and forgets the key. The charge stays among those
     * that the guard looks for, because the provider may list it later. Answers how many wrong codes there are by now; the same code twice
     * counts once.
     */
    readonly wrong: (
      attempt: Pick<CodeAttempt, "appId" | "mode" | "reference" | "codeHash" | "partyHash" | "claim">
    ) => Effect.Effect<number>
    /** The code that `begin` took the transaction for was not said: gives transaction and payer free, and forgets the key. */
    readonly unsaid: (attempt: Pick<CodeAttempt, "appId" | "mode" | "reference" | "partyHash" | "claim">) => Effect.Effect<void>
    /** The keyed HMAC of the number that is charged; none once it was dropped, or for an absent transaction. */
    readonly partyHash: (reference: Reference) => Effect.Effect<Option.Option<Uint8Array>>
    /**
     * Ends the codes of a transaction whose window passed. `free` and `wrong` say that none is on its way and that none can be sent any
     * more; after `free` nothing was and nothing will be placed. Otherwise nothing changes.
     */
    readonly close: (reference: Reference, at: Instant) => Effect.Effect<CodeState>
    /**
     * Counts a code that is about to be sent, in one commit: for its number, whatever it is for and in both modes together, and in the
     * tenant's windows. Where it may not be sent nothing is counted.
     */
    readonly request: (code: CountedCode, bounds: CodeBounds) => Effect.Effect<SendQuotaOutcome>
    /** The code was provably not sent: it does not count. Once for each; nothing where it is counted no more. */
    readonly unsent: (code: CountedCode) => Effect.Effect<void>
    /** Keeps whose code it is: only then can it be said. */
    readonly sent: (code: SentCode, at: Instant) => Effect.Effect<void>
    /**
     * The account that sent this very code to this number for this tenant in this mode; none where no account did. Null where it was sent
     * before accounts were kept.
     */
    readonly sentBy: (code: Omit<SentCode, "account">) => Effect.Effect<Option.Option<AccountFingerprint | null>>
  }
>()("gateway/services/ports/Codes") {}
