import { hearing, type Reading, type Unknown, unbelieved } from "../Reading.ts"
import type { Exchanged } from "../Transport.ts"

/** As corridor rows spell it. */
export const NAME = "pawapay"

/** No answer that can be believed. */
export const noAnswer = (exchanged: Exchanged): Reading<Unknown> =>
  unbelieved(exchanged, ({ status }, reason) => ({
    note: `HTTP ${status}`,
    alarm: reason === "bad_response" ? `pawaPay answers HTTP ${status} and nothing that can be used` : null
  }))

export const heard = hearing(NAME)
