import { alarmLogger, noAnswerOf, notAdmittedBy } from "../Reading.ts"

/** As corridor rows spell it. */
export const NAME = "eversend"

const NOT_ADMITTED = "Eversend refuses the gateway's account, its address or its origin"

/** Our account, our address or our origin: 401 after a new token, and 403. */
export const notAdmitted = notAdmittedBy(NOT_ADMITTED)

/** No answer that can be believed. */
export const noAnswer = noAnswerOf("Eversend", NOT_ADMITTED)

export const logAlarm = alarmLogger(NAME)
