import type { Instant } from "../../domain/Instant.ts"
import type { NextLook, Tries } from "../ports/ProviderInbox.ts"

/**
 * Ages, in milliseconds, at which a callback is looked into again that told nothing so far, where each look is made when it is due and takes no time:
 * the first ones are for callbacks that overtake the answer to our own request. What counts are the looks that were made and the pauses between
 * them: a callback that lay for hours gets as many. Past the last it is parked for a person, and the poller goes on by its schedule.
 */
export const LOOK_AGES_MS: ReadonlyArray<number> = [250, 1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000]

/**
 * So many of these are for a callback that brought nothing new about a closed record, and does not say what the record says: it may have overtaken the
 * provider's own status query. After two minutes it is done.
 */
export const EARLY_LOOKS = 5

/** After the first look, the second, and so on. */
const PAUSES_MS = LOOK_AGES_MS.map((age, at) => age - (LOOK_AGES_MS[at - 1] ?? 0))
const LONGEST_PAUSE_MS = Math.max(...PAUSES_MS)

/**
 * Claims in a row of which no look ended: after these a callback is parked unseen, because it may be what ends the nodes that look into it. As many as
 * last for a quarter of an hour of crashes, one a lease, or for hours in which the database cannot say whose it is.
 */
export const CLAIMS_AT_MOST = 20

/** After a look that told nothing. */
export const afterVainLook = ({ looks }: Tries, now: Instant): NextLook => {
  const pause = PAUSES_MS[looks]
  return { looks: looks + 1, claims: 0, at: pause === undefined ? null : now + pause }
}

/** After one that brought nothing new about a closed record; null where that is the end, and nobody has to look. */
export const afterNothingNew = (tries: Tries, now: Instant): NextLook | null =>
  tries.looks < EARLY_LOOKS ? afterVainLook(tries, now) : null

/** After one that could not be made, although its node lives: nobody was asked, and it does not count. */
export const afterNoLook = ({ claims, looks }: Tries, now: Instant): NextLook => ({
  looks,
  claims,
  at: now + (PAUSES_MS[claims] ?? LONGEST_PAUSE_MS)
})

/** After more claims than that. Whoever has it looked into again begins at none. */
export const afterLastClaim = ({ looks }: Tries): NextLook => ({ looks, claims: 0, at: null })
