import { DateTime, Option, Schema } from "effect"

/** A moment as milliseconds since 1970-01-01 UTC, as `Clock.currentTimeMillis` returns it. */
export const Instant = Schema.Number.check(Schema.isInt())
export type Instant = typeof Instant.Type

/** The last moment of a year with four digits. Later ones have another text form, which the database does not read. */
export const LAST_INSTANT: Instant = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** ISO-8601 UTC with milliseconds, the only form of a moment on the wire. */
export const iso = (at: Instant): string => new Date(at).toISOString()
export const isoOrNull = (at: Instant | null): string | null => (at === null ? null : iso(at))

const UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z$/
const SECONDS_LENGTH = "2026-01-31T12:00:00".length

/** The moment that an ISO-8601 UTC text stands for; none for any other form, and for a day that the month does not have. */
export const instantOf = (text: string): Option.Option<Instant> =>
  UTC.test(text)
    ? Option.map(DateTime.make(text), DateTime.toEpochMillis).pipe(
        // A day that the month does not have would roll over into the next month.
        Option.filter((at) => iso(at).startsWith(text.slice(0, SECONDS_LENGTH)))
      )
    : Option.none()
