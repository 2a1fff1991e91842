import { Context } from "effect"
import type { Candidate } from "../domain/Candidates.ts"

/** So many are remembered; an older one is in the log. */
const REMEMBERED = 20

/** A request to move money that found no provider: nothing was recorded of it but its line of the log. */
export interface UnroutedPayment {
  readonly at: number
  readonly appId: string
  readonly requestId: string
  /** The route's template, with its method. */
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
    /** The newest first. */
    read: (): ReadonlyArray<UnroutedPayment> => newest
  }
}

/** Those of one gateway, for the operators' pages. */
export const UnroutedPayments = Context.Reference<ReturnType<typeof makeUnroutedPayments>>("gateway/runtime/UnroutedPayments", {
  defaultValue: makeUnroutedPayments
})
