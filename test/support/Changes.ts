import { isDeepStrictEqual } from "node:util"

/** The fields in which a record differs from what it was, with their new values. */
export const changesOf = (before: object, next: object): object => {
  const was = new Map<string, unknown>(Object.entries(before))
  return Object.fromEntries(Object.entries(next).filter(([field, value]) => !isDeepStrictEqual(value, was.get(field))))
}
