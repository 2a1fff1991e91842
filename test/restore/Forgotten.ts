import type { Key } from "../chaos/Client.ts"
import type { Operation } from "../chaos/Load.ts"
import { COLLECTION_FEE_PER_MILLE, type Execution, PAYOUT_FEE } from "../chaos/Verdict.ts"

// What a restored database does not know any more, and who can say so.

/** Of `gateway reconcile`. */
export interface Difference {
  readonly kind: string
  readonly reference: string | null
  readonly ours: string | null
}

export interface Forgotten {
  /** Answered with a reference that nobody here knows any more. */
  readonly answered: ReadonlyArray<Operation>
  /** The provider moved their money. */
  readonly moved: ReadonlyArray<Execution>
  /** Of these, what `gateway reconcile` does not name. */
  readonly unlisted: ReadonlyArray<string>
}

interface After {
  readonly operations: ReadonlyArray<Operation>
  /** The references that the restored database has. */
  readonly known: ReadonlySet<string>
  readonly executions: ReadonlyArray<Execution>
  readonly differences: ReadonlyArray<Difference>
}

export const forgottenAfter = ({ differences, executions, known, operations }: After): Forgotten => {
  const isKnown = (reference: string | null | undefined) => known.has(reference ?? "")
  const named = new Set(
    differences.flatMap(({ kind, reference }) => (kind === "missing_here" && reference !== null ? [reference] : []))
  )
  const moved = executions.filter(({ client_reference }) => !isKnown(client_reference))
  return {
    answered: operations.filter(({ reference, settled }) => settled === "accepted" && !isKnown(reference)),
    moved,
    unlisted: moved.flatMap(({ client_reference }) =>
      client_reference !== null && named.has(client_reference) ? [] : [client_reference ?? "a movement without a reference"]
    )
  }
}

/** What `reconcile` says in the end besides that, and besides what was never sent and stays open. */
export const unexplainedOf = (differences: ReadonlyArray<Difference>, { moved }: Forgotten): ReadonlyArray<Difference> => {
  const named = new Set(moved.map(({ client_reference }) => client_reference))
  return differences.filter(
    ({ kind, ours, reference }) =>
      !(kind === "missing_here" && named.has(reference)) && !(kind === "missing_there" && ours?.startsWith("pending") === true)
  )
}

/** Each with its tenant, where that was answered. */
export const withTenants = (
  movements: ReadonlyArray<Execution>,
  operations: ReadonlyArray<Operation>
): ReadonlyArray<readonly [Key, Execution]> => {
  const tenants = new Map(operations.map(({ reference, tenant }) => [reference, tenant]))
  return movements.flatMap((one) => {
    const tenant = tenants.get(one.client_reference ?? "")
    return tenant === undefined ? [] : [[tenant, one] as const]
  })
}

/** What a movement at the provider makes of its tenant's available float. */
export const changeBy = ({ amount_minor, direction }: Execution): number =>
  direction === "payout"
    ? -(amount_minor + PAYOUT_FEE)
    : amount_minor - Math.ceil((amount_minor * COLLECTION_FEE_PER_MILLE) / 1000)
