import type { Instant } from "../../domain/Instant.ts"

/** Of two places in a list whose newest comes first, the one that comes later. What was made at the same moment is told apart by its id. */
export const laterOf =
  <Place extends { readonly id: string }>(createdAt: (place: Place) => Instant) =>
  (one: Place, other: Place): Place =>
    createdAt(other) < createdAt(one) || (createdAt(other) === createdAt(one) && other.id < one.id) ? other : one
