import type { Key } from "../chaos/Client.ts"
import type { Operation } from "../chaos/Load.ts"
import { COLLECTION_FEE_PER_MILLE, type Execution } from "../chaos/Verdict.ts"

/** In GHS, at every provider. */
export const PAYOUT_FEE = 500
/** Who lists the movements of a day; of the others each of our own is asked for, and what was forgotten is not seen. */
const LISTING: ReadonlySet<string> = new Set(["eversend", "flutterwave", "paystack"])

// What a restored database does not know any more, and who can say so. Each operation has an amount of its own, by which a movement at the
// provider is told to be its: what a provider's own record of the recipient is to an operator.

/** Of `gateway reconcile`. */
export interface Difference {
  readonly kind: string
  readonly direction: string
  readonly reference: string | null
  readonly ours: string | null
  /** As `successful 1000 GHS`. */
  readonly theirs: string | null
}

export interface Forgotten {
  /** Answered with a reference that nobody here knows any more. */
  readonly answered: ReadonlyArray<Operation>
  /** The provider moved their money. */
  readonly moved: ReadonlyArray<Execution>
  /** What `gateway reconcile` names of these, as an operator reads it. */
  readonly listed: ReadonlyArray<Listed>
  /** Of these, what it does not name. */
  readonly unlisted: ReadonlyArray<string>
}

export interface Listed extends Pick<Execution, "direction" | "amount_minor"> {
  readonly reference: string
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
  const listed = differences.flatMap(listedIn)
  const named = new Set(listed.map(({ reference }) => reference))
  const moved = executions.filter(({ client_reference }) => !isKnown(client_reference))
  return {
    answered: operations.filter(({ reference, settled }) => settled === "accepted" && !isKnown(reference)),
    moved,
    listed,
    unlisted: moved
      .filter(({ provider }) => LISTING.has(provider ?? ""))
      .flatMap(({ client_reference }) =>
        client_reference !== null && named.has(client_reference) ? [] : [client_reference ?? "a movement without a reference"]
      )
  }
}

export const listedIn = ({ direction, kind, reference, theirs }: Difference): ReadonlyArray<Listed> => {
  const [, amount] = /^successful (\d+) GHS$/.exec(theirs ?? "") ?? []
  if (kind !== "missing_here" || reference === null || amount === undefined) return []
  if (direction !== "payout" && direction !== "collection") return []
  return [{ reference, direction, amount_minor: Number(amount) }]
}

/**
 * What `reconcile` says in the end besides that, besides what was never sent and stays open, and besides a forgotten charge whose payer never
 * finished it: the provider has it pending, and moved nothing.
 */
export const unexplainedOf = (differences: ReadonlyArray<Difference>, { moved }: Forgotten): ReadonlyArray<Difference> => {
  const named = new Set(moved.map(({ client_reference }) => client_reference))
  const isPending = (standing: string | null): boolean => standing?.startsWith("pending") === true
  return differences.filter(
    ({ direction, kind, ours, reference, theirs }) =>
      !(kind === "missing_here" && (named.has(reference) || (direction === "collection" && isPending(theirs)))) &&
      !(kind === "missing_there" && isPending(ours))
  )
}

type Movement = Pick<Execution, "direction" | "amount_minor">

const nameOf = ({ amount_minor, direction }: Movement): string => `${direction} of ${amount_minor}`

/** Whose a movement is. */
export const ownersOf = (operations: ReadonlyArray<Operation>) => {
  const tenants = new Map(operations.map(({ amount, kind, tenant }) => [`${kind} of ${amount}`, tenant]))
  return (movement: Movement): Key => {
    const tenant = tenants.get(nameOf(movement))
    if (tenant === undefined) throw new Error(`nobody asked for a ${nameOf(movement)}`)
    return tenant
  }
}

/** Operations whose money moved more than once. */
export const movedTwice = (movements: ReadonlyArray<Movement>): ReadonlyArray<string> =>
  [...Map.groupBy(movements, nameOf)].flatMap(([name, own]) => (own.length > 1 ? [`${name}, ${own.length} times`] : []))

/** What a movement at the provider makes of its tenant's available float. */
export const changeBy = ({ amount_minor, direction }: Movement): number =>
  direction === "payout"
    ? -(amount_minor + PAYOUT_FEE)
    : amount_minor - Math.ceil((amount_minor * COLLECTION_FEE_PER_MILLE) / 1000)
