import { laterWord, type SeenServer, type Told } from "./PrimaryChoice.ts"

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
