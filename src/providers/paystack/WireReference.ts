import { isReference, type Reference } from "../../domain/Ids.ts"

// A transfer's reference has no capital letters, and ours has no other ones: the same reference in small letters, for charges too.

export const wireReference = (reference: Reference): string => reference.toLowerCase()

/** Ours, where it is one. */
export const ownReference = (wire: string): Reference | null => {
  const upper = wire.toUpperCase()
  return wire === wire.toLowerCase() && isReference(upper) ? upper : null
}
