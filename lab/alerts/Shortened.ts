// Rules, intervals and waits as they are shipped, only faster: a drill that waited them out would take hours.

/** The shipped scrape and evaluation interval of 15 s becomes one second. Windows and intervals keep their proportions. */
export const FACTOR = 15

const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
/** What waits, repeats or looks back: a rule's `for`, the ranges and offsets in its expression, the intervals of groups and of both programs. */
const DURATION = /((?:^\s*(?:for|interval)|_interval|_wait): |\[|offset )(\d+)([smhd])\b/gm

/** No fault of a drill can set back what the server counts itself: since when nothing was archived. */
const REAL_SECONDS = /(gateway_database_archive_behind_seconds\) > )(\d+)/g

/** A configuration of Prometheus or Alertmanager with every duration divided by the factor; other bounds stay as they are. */
export const shortened = (configuration: string): string =>
  configuration
    .replaceAll(
      DURATION,
      (_, before: string, count: string, unit: string) => `${before}${(Number(count) * (unitsMs[unit] ?? 0)) / FACTOR}ms`
    )
    .replaceAll(REAL_SECONDS, (_, before: string, seconds: string) => `${before}${Number(seconds) / FACTOR}`)
