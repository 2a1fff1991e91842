import { DateTime, Schema } from "effect"

/** A moment as milliseconds since 1970-01-01 UTC, as `Clock.currentTimeMillis` gives it. */
export const Instant = Schema.Number.check(Schema.isInt())
export type Instant = typeof Instant.Type

/** ISO-8601 UTC with milliseconds, the only form of a moment on the wire. */
export const iso = (at: Instant): string => DateTime.formatIso(DateTime.makeUnsafe(at))
