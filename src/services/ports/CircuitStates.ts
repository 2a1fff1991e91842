import { Context, type Effect } from "effect"
import type { AppId, Mode } from "../../domain/Ids.ts"

/** What a provider is asked to do. Polls are not among them: nothing ever stops those. */
export const operations = ["quote", "send", "charge", "exchange", "reads"] as const
export type Operation = (typeof operations)[number]

/** One operation of one account. */
export interface CircuitKey {
  readonly provider: string
  readonly mode: Mode
  readonly operation: Operation
}

/**
 * What a call said of the provider. `unreachable`: it never left, which no request can cause. `failed`: nothing came of it, and the tenant may
 * have chosen a recipient for which nothing ever does.
 */
export type CallVerdict = "answered" | "failed" | "unreachable"

/** For all tenants, and for these alone. */
export interface HeldBack {
  readonly all: boolean
  readonly tenants: ReadonlyArray<AppId>
}

/** Says how a call ended that was let through. Called once; `abandoned` where whoever waited went away. */
export type EndCall = (verdict: CallVerdict | "abandoned") => Effect.Effect<void>

/**
 * The states of the circuits: those of this process, or those that all worker processes of a machine share. Other machines find out for
 * themselves. `tenant` is whose request the call is for; null for the gateway's own work.
 */
export class CircuitStates extends Context.Service<
  CircuitStates,
  {
    /** Lets a call through that begins now, or holds it back: null. */
    readonly begin: (line: CircuitKey, tenant: AppId | null) => Effect.Effect<EndCall | null>
    /** A call begun now would be held back. */
    readonly isOpen: (line: CircuitKey, tenant: AppId | null) => Effect.Effect<boolean>
    /** Whose calls are held back, or wait for one that is let through as a trial. */
    readonly standing: (line: CircuitKey) => Effect.Effect<HeldBack>
  }
>()("gateway/services/ports/CircuitStates") {}
