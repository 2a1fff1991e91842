import { Effect } from "effect"
import { RateLimited } from "../../domain/errors/Retriable.ts"

export type SlotKind = "money" | "reads" | "callbacks" | "unsigned"

/** How many requests of a kind a process handles at once. Callbacks and unsigned requests have as many slots as reads. */
export interface RequestSlots {
  readonly money: number
  readonly reads: number
}

/** This share of the slots is reserved for holders that have few. */
const RESERVED_SHARE = 0.25
/** A holder with a smaller share of the slots than this has few; one slot is always few. */
const FEW_SHARE = 1 / 64
/** A slot becomes free within a moment, unless everything is slow. */
const RETRY_AFTER_SECONDS = 1

/** Releases the slot. Call it once. */
export type Release = () => void

/**
 * Limits the requests that a process handles at once. A request without a slot is shed before anything is claimed for it. There
 * is no queue: a waiting request holds memory, and its client has often timed out by its turn. Money never takes a slot from
 * reads.
 *
 * A holder gets a slot while it has fewer than are free outside the reserve. A single holder gets three eighths of the slots,
 * two get a quarter each, and so on. The reserve is for holders that have few, so that busy tenants, however many, leave room
 * for the others. Provider accounts share the callback slots in the same way, and client addresses the slots for unsigned
 * requests.
 */
export const makeConcurrencyLimit = ({ money, reads }: RequestSlots) => {
  const slots = { money, reads, callbacks: reads, unsigned: reads }
  const taken = { money: 0, reads: 0, callbacks: 0, unsigned: 0 }
  const held = new Map<string, number>()

  /** Takes a slot. `holder`: the tenant, the callback path (one per provider account), or an unsigned client's address. */
  return (kind: SlotKind, holder: string): Effect.Effect<Release, RateLimited> =>
    Effect.suspend(() => {
      const name = `${kind}:${holder}`
      const own = held.get(name) ?? 0
      const free = slots[kind] - taken[kind]
      const few = Math.max(1, Math.floor(slots[kind] * FEW_SHARE))
      const allowed = own < few ? free : free - Math.floor(slots[kind] * RESERVED_SHARE) - own
      if (allowed <= 0) return Effect.fail(new RateLimited({ scope: "server", retry_after_seconds: RETRY_AFTER_SECONDS }))
      taken[kind] += 1
      held.set(name, own + 1)
      return Effect.succeed(() => release(kind, name))
    })

  function release(kind: SlotKind, name: string): void {
    taken[kind] -= 1
    const others = (held.get(name) ?? 1) - 1
    if (others === 0) held.delete(name)
    else held.set(name, others)
  }
}
