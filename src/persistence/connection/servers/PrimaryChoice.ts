import { forgetful } from "./Durability.ts"
import { commitsEnd, type ServerFacts } from "./ServerFacts.ts"

/** A server and what it said of itself, or why it could not be asked. */
export interface SeenServer {
  /** For people: host and port, with the address where a name has several. */
  readonly name: string
  readonly facts: ServerFacts | string
}

/** The progress that a standby reports. */
export type Remembered = Pick<ServerFacts, "cluster" | "startedAt" | "timeline">

export interface Known {
  /** Of the database that was worked with; null at the start. */
  readonly cluster: string | null
  /** The highest timeline of a primary that was ever seen of a cluster; 0 where none was. */
  readonly highestTimeline: (cluster: string) => number
  /** The last reports of the standbys, by their names. */
  readonly standbys: ReadonlyMap<string, Remembered>
  /** The server that is worked with; null where there is none. */
  readonly accepted: (Pick<ServerFacts, "startedAt" | "timeline"> & Pick<SeenServer, "name">) | null
}

/** The server to write to, or why there is none, in one line. */
export type Choice<S extends SeenServer> = { readonly server: Answered<S> } | { readonly refusal: string }
type Answered<S extends SeenServer> = S & { readonly facts: ServerFacts }

/**
 * The one server that may be written to, of those that could be asked. docs/operations/durability.md has the argument.
 *
 * A server that came back after another one was promoted has an older timeline than that one, and is refused while this process has seen
 * the newer, or a standby of it. Where it has not, the server waits for a standby that does not follow it, and is refused for that. A server that was accepted with
 * its standby keeps being accepted when that one goes, because its commits then wait and are reported (CommitsWaiting).
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
  // Of several ways to one server the one that is used: another one would cut what is under way, and names come back in any order.
  const first = newest.find(({ name }) => name === known.accepted?.name) ?? newest[0]
  if (first === undefined) return { refusal: `no server takes writes: ${problems.join("; ")}` }
  const other = newest.find(({ facts }) => !isSame(facts, first.facts))
  if (other !== undefined)
    return { refusal: `${first.name} and ${other.name} are both primaries of timeline ${highest}: stop the wrong one` }
  // Only now: what the database is at stays so, however its server is set.
  const { name, facts } = first
  return facts.weakness === null
    ? { server: first }
    : { refusal: `no server takes writes: ${[`${name}: ${forgetful(facts.weakness)}`, ...problems].join("; ")}` }
}

/** Standbys that would be refused once they are promoted, each with the reason. */
export const unfitStandbys = (seen: ReadonlyArray<SeenServer>): ReadonlyArray<string> =>
  seen.flatMap(({ facts, name }) =>
    typeof facts === "string" || !facts.isStandby || facts.weakness === null ? [] : [`${name}: ${forgetful(facts.weakness)}`]
  )

/**
 * Of those that are there or were, standbys among them: who follows a newer primary knows that the older ones are over, also while that one is gone. `by` names
 * the standby where it alone says so.
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
 * The one of two reports of a standby that counts: the later one. But a standby that has not restarted knows no less than before: the state
 * that it received of a primary that is gone may be missing in its later report.
 */
export const laterWord = (before: Remembered | undefined, now: Remembered): Remembered => {
  if (before === undefined || before.cluster !== now.cluster || before.startedAt !== now.startedAt) return now
  return (now.timeline ?? 0) < (before.timeline ?? 0) ? before : now
}

const timelineOf = ({ timeline }: Pick<ServerFacts, "timeline">): number => timeline ?? 0

/** One server may be reached by several addresses. */
const isSame = (facts: ServerFacts, other: Pick<ServerFacts, "startedAt" | "timeline"> | null): boolean =>
  other !== null && facts.startedAt === other.startedAt && facts.timeline === other.timeline
