import type { Receiver } from "./Receiver.ts"

/** What one receiver is owed: nothing lost, nothing changed, and every record as it ended. */
export interface Account {
  readonly events: number
  /** Whole events that it read. */
  readonly attempts: number
  readonly lost: number
  readonly changed: number
  readonly faults: ReadonlyArray<string>
  /** Events that it took after a newer one of the same record: allowed, and harmless to who looks at `version`. */
  readonly overtaken: number
  /** Records whose newest version is not the last one. */
  readonly stale: number
}

/** `owed` are the ids of its events; `last` the newest version of each record. */
export const account = ({ heard }: Receiver, owed: ReadonlyArray<string>, last: ReadonlyMap<string, number>): Account => {
  const { newest, overtaken } = newestVersions([...heard.taken].flatMap((id) => heard.bodies.get(id) ?? []))
  return {
    events: owed.length,
    attempts: heard.attempts,
    lost: owed.filter((id) => !heard.taken.has(id)).length,
    changed: heard.changed.size,
    faults: heard.faults,
    overtaken,
    stale: [...last].filter(([reference, version]) => newest.get(reference) !== version).length
  }
}

/** As a tenant does it: an event about a version that is not newer than the known one is dropped. `bodies` are in the order of their taking. */
const newestVersions = (bodies: ReadonlyArray<string>) => {
  const newest = new Map<string, number>()
  let overtaken = 0
  for (const body of bodies) {
    const { data }: { data: { reference: string; version: number } } = JSON.parse(body)
    if ((newest.get(data.reference) ?? 0) < data.version) newest.set(data.reference, data.version)
    else overtaken++
  }
  return { newest, overtaken }
}
