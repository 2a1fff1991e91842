import { Context } from "effect"
import type { Candidate } from "../domain/Candidates.ts"

/** The number of payments kept; older ones are in the log. */
const REMEMBERED = 20

/** A request to move money for which no provider was found. Only its log line records it. */
export interface UnroutedPayment {
  readonly at: number
  readonly appId: string
  readonly requestId: string
  /** The route's method and template. */
  readonly asked: string
  readonly candidates: ReadonlyArray<Candidate>
}

/** The newest of them, in memory. */
export const makeUnroutedPayments = () => {
  let newest: ReadonlyArray<UnroutedPayment> = []
  return {
    record: (payment: UnroutedPayment): void => {
      newest = [payment, ...newest].slice(0, REMEMBERED)
    },
    /** Newest first. */
    read: (): ReadonlyArray<UnroutedPayment> => newest
  }
}

/** The unrouted payments of one gateway process, for the operators' pages. */
export const UnroutedPayments = Context.Reference<ReturnType<typeof makeUnroutedPayments>>("gateway/runtime/UnroutedPayments", {
  defaultValue: makeUnroutedPayments
})
