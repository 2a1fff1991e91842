import { forgetful } from "./Durability.ts"
import { commitsEnd, type ServerFacts } from "./ServerFacts.ts"

/** A server and its facts, or why it could not be queried. */
export interface SeenServer {
  /** For people: host and port, with the address when a name has several. */
  readonly name: string
  readonly facts: ServerFacts | string
}

/** The progress that a standby reports. */
export type Remembered = Pick<ServerFacts, "cluster" | "startedAt" | "timeline">

export interface Known {
  /** The cluster of the database in use; null at the start. */
  readonly cluster: string | null
  /** The highest timeline of any primary of a cluster seen so far; 0 when there was none. */
  readonly highestTimeline: (cluster: string) => number
  /** The last reports of the standbys, by name. */
  readonly standbys: ReadonlyMap<string, Remembered>
  /** The server in use; null when there is none. */
  readonly accepted: (Pick<ServerFacts, "startedAt" | "timeline"> & Pick<SeenServer, "name">) | null
}

/** The server to write to, or why there is none, in one line. */
export type Choice<S extends SeenServer> = { readonly server: Answered<S> } | { readonly refusal: string }
type Answered<S extends SeenServer> = S & { readonly facts: ServerFacts }

/**
 * Chooses the one server that may be written to among those that answered. docs/operations/durability.md has the reasoning.
 *
 * A server that returned after another one was promoted has an older timeline, and is refused when this process has seen the
 * newer timeline or a standby on it. When it has not, the server waits for a standby that does not follow it, and is refused
 * for that. A server that was accepted with its standby stays accepted when the standby goes, because its commits then wait and
 * that is reported (CommitsWaiting).
 */
export const choosePrimary = <S extends SeenServer>(seen: ReadonlyArray<S>, known: Known): Choice<S> => {
  const primaries: Array<Answered<S>> = []
  const problems: Array<string> = []
  for (const one of seen) {
    const { facts, name } = one
    if (typeof facts === "string") problems.push(`${name}: ${facts}`)
    else if (facts.isStandby) problems.push(`${name} is a standby`)
    else if (known.cluster !== null && facts.cluster !== known.cluster) problems.push(`${name} holds another database`)
    else if (facts.isReadOnly) problems.push(`${name} is read-only`)
    else primaries.push({ ...one, facts })
  }
  const [any] = primaries
  const stranger = primaries.find(({ facts }) => facts.cluster !== any?.facts.cluster)
  if (any !== undefined && stranger !== undefined)
    return { refusal: `${any.name} and ${stranger.name} hold different databases: name servers of one` }
  const { by, highest } = highestOf(any?.facts.cluster ?? null, seen, known)
  const newest: typeof primaries = []
  for (const one of primaries) {
    const { facts, name } = one
    if (timelineOf(facts) < highest)
      problems.push(`${name} is an old primary, of timeline ${timelineOf(facts)}: the database is at ${highest}${by}`)
    else if (!isSame(facts, known.accepted) && !commitsEnd(facts))
      problems.push(
        `${name} waits for a standby that does not follow it (synchronous_standby_names = ${facts.awaited}): see docs/runbooks/commits-waiting.md`
      )
    else newest.push(one)
  }
  // Of one server's addresses the one in use: switching would cut statements, and names resolve in any order.
  const first = newest.find(({ name }) => name === known.accepted?.name) ?? newest[0]
  if (first === undefined) return { refusal: `no server takes writes: ${problems.join("; ")}` }
  const other = newest.find(({ facts }) => !isSame(facts, first.facts))
  if (other !== undefined)
    return { refusal: `${first.name} and ${other.name} are both primaries of timeline ${highest}: stop the wrong one` }
  // Checked last: the facts about the database do not depend on the server's settings.
  const { name, facts } = first
  return facts.weakness === null
    ? { server: first }
    : { refusal: `no server takes writes: ${[`${name}: ${forgetful(facts.weakness)}`, ...problems].join("; ")}` }
}

/** Standbys that would be refused after a promotion, each with the reason. */
export const unfitStandbys = (seen: ReadonlyArray<SeenServer>): ReadonlyArray<string> =>
  seen.flatMap(({ facts, name }) =>
    typeof facts === "string" || !facts.isStandby || facts.weakness === null ? [] : [`${name}: ${forgetful(facts.weakness)}`]
  )

/**
 * The highest timeline among present and former servers, including standbys: a standby that follows a newer primary proves that
 * the older ones are over, even when that primary is gone. `by` names the standby if it alone proves this.
 */
const highestOf = (cluster: string | null, seen: ReadonlyArray<SeenServer>, { highestTimeline, standbys }: Known) => {
  let [highest, by] = [cluster === null ? 0 : highestTimeline(cluster), ""]
  const answering = seen.flatMap(({ facts, name }) => (typeof facts === "string" ? [] : [{ name, facts }]))
  for (const { facts } of answering)
    if (!facts.isStandby && facts.cluster === cluster) highest = Math.max(highest, timelineOf(facts))
  const ofStandbys = new Map(standbys)
  for (const { facts, name } of answering) if (facts.isStandby) ofStandbys.set(name, laterWord(ofStandbys.get(name), facts))
  for (const [name, facts] of ofStandbys)
    if (facts.cluster === cluster && timelineOf(facts) > highest) {
      highest = timelineOf(facts)
      by = `, which its standby ${name} says: see docs/operations/durability.md#failover`
    }
  return { highest, by }
}

/**
 * The report of a standby that counts: the later one. But a standby that has not restarted knows at least as much as before, so
 * its later report may lack what it received from a primary that is gone.
 */
export const laterWord = (before: Remembered | undefined, now: Remembered): Remembered => {
  if (before === undefined || before.cluster !== now.cluster || before.startedAt !== now.startedAt) return now
  return (now.timeline ?? 0) < (before.timeline ?? 0) ? before : now
}

const timelineOf = ({ timeline }: Pick<ServerFacts, "timeline">): number => timeline ?? 0

/** One server may be reached by several addresses. */
const isSame = (facts: ServerFacts, other: Pick<ServerFacts, "startedAt" | "timeline"> | null): boolean =>
  other !== null && facts.startedAt === other.startedAt && facts.timeline === other.timeline
