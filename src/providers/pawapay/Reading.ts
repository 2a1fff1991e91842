import { alarmLogger, type Reading, type Unknown, unknownOutcome } from "../Reading.ts"
import type { ProviderResponse } from "../Transport.ts"

/** As corridor rows spell it. */
export const NAME = "pawapay"

/** No answer that can be believed. */
export const noAnswer = (response: ProviderResponse): Reading<Unknown> =>
  unknownOutcome(response, ({ status }, reason) => ({
    note: `HTTP ${status}`,
    alarm: reason === "bad_response" ? `pawaPay answers HTTP ${status} and nothing that can be used` : null
  }))

export const logAlarm = alarmLogger(NAME)
