import { tellsReturns } from "./Accounts.ts"
import type { Known } from "./Books.ts"
import type { Operation } from "./Load.ts"

export interface Difference {
  readonly provider: string
  readonly mode: string
  readonly kind: string
  readonly direction: string | null
  readonly reference: string | null
  readonly ours: string | null
  readonly theirs: string | null
}

type Explanation = readonly [because: string, holds: (difference: Difference, known: Known, operation: Operation) => boolean]

/** The endings that make an account differ from the ledger for good, and what died on its way. */
const explanations: ReadonlyArray<Explanation> = [
  [
    "nobody can prove that it was not executed",
    ({ kind, ours }, { executions }) =>
      kind === "missing_there" && ours?.startsWith("pending") === true && executions.length === 0
  ],
  [
    "the payer paid less, and a person ruled so",
    ({ kind }, { movements }, operation) =>
      kind === "amount" && operation.kind === "collection" && movements[0]?.ending === "0014"
  ],
  [
    "the provider took it back, and a person ruled so",
    ({ kind }, { movements }, operation) => kind === "state" && operation.kind !== "payout" && movements[0]?.returned === true
  ],
  [
    "the provider took it back, and its wire does not say so",
    ({ direction, kind, theirs }, { movements: [movement] }, operation) =>
      movement?.returned === true &&
      !tellsReturns(operation.holder.provider, operation.kind) &&
      // A statement lists it as a correction that names the payout.
      (kind === "state" ||
        (kind === "missing_here" &&
          operation.kind === "payout" &&
          direction === "collection" &&
          theirs === `successful ${movement.amount} ${movement.currency}`))
  ]
]

const REFUND = "the provider refunded it, and its row names no deposit"

/** The rows of a statement that deposits which were taken back have made: each is one's own, by nothing but its account and its amount. */
const refundRows = (operations: ReadonlyMap<string, Operation>, of: (reference: string) => Known): Array<string> =>
  [...operations].flatMap(([reference, { holder, kind }]) =>
    kind !== "collection" || tellsReturns(holder.provider, kind)
      ? []
      : of(reference).movements.flatMap(({ amount, currency, returned }) =>
          returned ? [`${holder.provider} ${holder.mode} payout debited ${amount} ${currency}`] : []
        )
  )

/** Each difference by what explains it; what nothing does is a fault. */
export const explained = (
  differences: ReadonlyArray<Difference>,
  operations: ReadonlyMap<string, Operation>,
  of: (reference: string) => Known
) => {
  const because: Record<string, number> = {}
  const unexplained: Array<string> = []
  const refunds = refundRows(operations, of)
  /** Each such row once. */
  const isRefund = ({ direction, kind, mode, provider, reference, theirs }: Difference): boolean => {
    const at = refunds.indexOf(`${provider} ${mode} ${direction} ${theirs}`)
    if (kind !== "missing_here" || reference !== null || at === -1) return false
    refunds.splice(at, 1)
    return true
  }
  const count = (why: string) => {
    because[why] = (because[why] ?? 0) + 1
  }
  for (const difference of differences) {
    const operation = operations.get(difference.reference ?? "")
    const found =
      operation === undefined
        ? undefined
        : explanations.find(([, holds]) => holds(difference, of(difference.reference ?? ""), operation))
    if (found !== undefined) count(found[0])
    else if (isRefund(difference)) count(REFUND)
    else
      unexplained.push(
        `reconcile ${difference.provider}: ${difference.kind} ${difference.reference}, ours ${difference.ours}, theirs ${difference.theirs} (${operation?.kind} at ${operation?.holder.provider}, ending ${operation?.ending})`
      )
  }
  return { because, unexplained }
}
