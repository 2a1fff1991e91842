import { setTimeout as pause } from "node:timers/promises"
import type { Bench } from "../Cluster.ts"

export interface Locks {
  /** Milliseconds that somebody waited for a table. */
  readonly longestWait: number
  /** Milliseconds for which a table could not be written to; a lock that was gone by the next look counts as nothing. */
  readonly longestHeld: number
}

const LOOK_EVERY_MS = 20

/** Looks at the tables' locks until it is ended. */
export const watchLocks = ({ query }: Bench): (() => Promise<Locks>) => {
  const end = new AbortController()
  const [waits, held] = [[0], [0]]
  const since = new Map<string, number>()
  const watching = (async () => {
    while (!end.signal.aborted) {
      const now = performance.now()
      const rows = await query(`
        SELECT l.granted, (extract(epoch FROM clock_timestamp() - l.waitstart) * 1000)::float8 AS waited,
          concat_ws(' ', l.pid, l.virtualtransaction, c.relname, l.mode) AS name
        FROM pg_locks l JOIN pg_class c ON c.oid = l.relation AND c.relkind IN ('r', 'p')
        WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND c.relnamespace = 'public'::regnamespace
          AND (NOT l.granted OR l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))`)
      for (const { granted, name, waited } of rows) {
        if (granted !== true) waits.push(Number(waited ?? 0))
        else held.push(now - (since.get(String(name)) ?? since.set(String(name), now).get(String(name)) ?? now))
      }
      await pause(LOOK_EVERY_MS)
    }
  })()
  // Its failure is told to whoever ends it.
  watching.catch(() => end.abort())
  return async () => {
    end.abort()
    await watching
    return { longestWait: Math.max(...waits), longestHeld: Math.max(...held) }
  }
}
