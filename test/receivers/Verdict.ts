import type { Receiver } from "./Receiver.ts"

/** What one receiver is owed: nothing lost, nothing changed, and every record as it ended. */
export interface Account {
  readonly events: number
  readonly attempts: number
  readonly lost: number
  readonly changed: number
  readonly faults: ReadonlyArray<string>
  /** Records whose newest version is not the last one. */
  readonly stale: number
}

/** `owed` are the ids of its events; `last` the newest version of each record. */
export const account = ({ heard }: Receiver, owed: ReadonlyArray<string>, last: ReadonlyMap<string, number>): Account => {
  const known = newestVersions([...heard.bodies].filter(([id]) => heard.taken.has(id)).map(([, body]) => body))
  return {
    events: owed.length,
    attempts: heard.attempts,
    lost: owed.filter((id) => !heard.taken.has(id)).length,
    changed: heard.changed.size,
    faults: heard.faults,
    stale: [...last].filter(([reference, version]) => known.get(reference) !== version).length
  }
}

/** As a tenant does it: an event about a version that is not newer than the known one is dropped. */
export const newestVersions = (bodies: ReadonlyArray<string>): ReadonlyMap<string, number> => {
  const newest = new Map<string, number>()
  for (const body of bodies) {
    const { data }: { data: { reference: string; version: number } } = JSON.parse(body)
    if ((newest.get(data.reference) ?? 0) < data.version) newest.set(data.reference, data.version)
  }
  return newest
}
