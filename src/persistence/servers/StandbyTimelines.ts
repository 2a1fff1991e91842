import type { SeenServer } from "./PrimaryChoice.ts"
import type { ServerFacts } from "./ServerFacts.ts"

export type Told = Pick<ServerFacts, "cluster" | "startedAt" | "timeline">

/**
 * Which of two words of one standby counts. The later one, but a standby that has not started anew since knows no less than before: what it received
 * of a primary that is gone it may say no more.
 */
export const laterWord = (before: Told | undefined, now: Told): Told => {
  if (before === undefined || before.cluster !== now.cluster || before.startedAt !== now.startedAt) return now
  return (now.timeline ?? 0) < (before.timeline ?? 0) ? before : now
}

/**
 * What each standby said of its timeline last, also while it does not answer: who follows a newer primary knows that the older ones are over. One that was
 * made anew says an older timeline, and is believed; one that is named no more says nothing.
 */
export const standbyTimelines = () => {
  const last = new Map<string, Told>()
  const told: ReadonlyMap<string, Told> = last
  return {
    last: told,
    heard: ({ facts, name }: SeenServer): void => {
      if (typeof facts !== "string" && facts.isStandby && facts.timeline !== null)
        last.set(name, laterWord(last.get(name), facts))
    },
    /** After every server was looked for under every name. */
    forgetOthers: (seen: ReadonlyArray<SeenServer>): void => {
      const names = new Set(seen.map(({ name }) => name))
      for (const name of last.keys()) if (!names.has(name)) last.delete(name)
    }
  }
}
