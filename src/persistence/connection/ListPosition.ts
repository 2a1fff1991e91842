import type { Instant } from "../../domain/Instant.ts"

/** Of two positions in a list whose newest comes first, the one that comes later. Rows of the same moment are ordered by their ids. */
export const laterOf =
  <Position extends { readonly id: string }>(createdAt: (position: Position) => Instant) =>
  (one: Position, other: Position): Position =>
    createdAt(other) < createdAt(one) || (createdAt(other) === createdAt(one) && other.id < one.id) ? other : one
