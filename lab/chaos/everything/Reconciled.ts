import { tellsReturns } from "./Accounts.ts"
import type { Known } from "./Books.ts"
import type { Operation } from "./Load.ts"

export interface Difference {
  readonly kind: string
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
    ({ kind }, { movements }, operation) =>
      kind === "state" && movements[0]?.returned === true && !tellsReturns(operation.holder.provider)
  ]
]

/** Each difference by what explains it; what nothing does is a fault. */
export const explained = (
  differences: ReadonlyArray<Difference>,
  operations: ReadonlyMap<string, Operation>,
  of: (reference: string) => Known
) => {
  const because: Record<string, number> = {}
  const unexplained: Array<string> = []
  for (const difference of differences) {
    const operation = operations.get(difference.reference ?? "")
    const found =
      operation === undefined
        ? undefined
        : explanations.find(([, holds]) => holds(difference, of(difference.reference ?? ""), operation))
    if (found !== undefined) because[found[0]] = (because[found[0]] ?? 0) + 1
    else
      unexplained.push(
        `reconcile: ${difference.kind} ${difference.reference}, ours ${difference.ours}, theirs ${difference.theirs} (${operation?.kind} at ${operation?.holder.provider}, ending ${operation?.ending})`
      )
  }
  return { because, unexplained }
}
