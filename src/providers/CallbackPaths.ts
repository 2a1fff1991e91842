import { list, type Rule, wholeNumber } from "../ConfigRules.ts"

/** The numbers of its callback paths: the one that the provider is to be told, and after it those that are still taken. */
export type CallbackPaths = readonly [number, ...ReadonlyArray<number>]

/** The path of an account that has had no other. */
export const FIRST_PATH = 1
/** A number is only a name: what belongs to it cannot be guessed. */
const LAST_PATH = 9_999
/** One to tell the provider, and one from which it moves away; a third where that was begun twice. */
const PATHS_AT_MOST = 3

export const callbackPaths: Rule<CallbackPaths> = {
  meaning: `a comma list of at most ${PATHS_AT_MOST} different numbers from ${FIRST_PATH} to ${LAST_PATH}, the newest path first`,
  of: (value) => {
    const [first, ...kept] = list(wholeNumber(FIRST_PATH, LAST_PATH)).of(value) ?? []
    if (first === undefined || kept.length >= PATHS_AT_MOST || new Set([first, ...kept]).size <= kept.length) return undefined
    return [first, ...kept]
  }
}
