import { looksLikeCard } from "../domain/CardNumber.ts"
import type { Issue } from "../domain/errors/Terminal.ts"

/** An answer names at most this many issues, however many a request has. */
export const MOST_ISSUES = 32
/** Longest path of one issue, in characters; a longer one ends in `...`. */
export const LONGEST_PATH = 100

/** A place in a body: a member or an item, and what it stands in. Its path is made only where something is wrong. */
export interface Place {
  readonly name: string | number
  /** Null: the body itself. */
  readonly within: Place | null
}

export const inside = (within: Place | null, name: string | number): Place => ({ name, within })

/** What is wrong at a place. The message reads on from the path ("amount_minor", "is required") and never holds the value. */
export const issueAt = (place: Place | null, message: string): Issue => ({ path: pathOf(place), message })

/**
 * The first issues of several walks, each once. Every walk is asked for one issue at a time and for none beyond the bound, so that a
 * body with a thousand mistakes costs no more than one with a few dozen.
 */
export const bounded = (...walks: ReadonlyArray<Iterable<Issue>>): ReadonlyArray<Issue> => {
  const found = new Map<string, Issue>()
  for (const walk of walks)
    for (const issue of walk) {
      found.set(`${issue.path} ${issue.message}`, issue)
      if (found.size === MOST_ISSUES) return [...found.values()]
    }
  return [...found.values()]
}

/** Names of members joined by dots, at most `LONGEST_PATH` characters. The names are the caller's own: see `shownName`. */
export const pathOf = (place: Place | null): string => {
  const names: Array<string> = []
  for (let at = place; at !== null; at = at.within) names.push(shownName(at.name))
  const path = names.toReversed().join(".")
  return path.length <= LONGEST_PATH ? path : `${path.slice(0, LONGEST_PATH - 3)}...`
}

/** What a terminal or a header could not show is `?`; a name that is a card number is not shown at all. */
export const shownName = (name: string | number): string => {
  const beginning = String(name).slice(0, LONGEST_PATH)
  return looksLikeCard(beginning) ? "?" : beginning.replace(/[^ !#-[\]-~]/g, "?")
}
