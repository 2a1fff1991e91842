/** A mistake that no test need notice, because nothing that anybody can see depends on it. */
export interface Explained {
  readonly original: string
  readonly replacement: string
  /** The line that it is in, without its indentation, where the same text stands more than once. */
  readonly line?: string
  readonly why: string
}

const keyOf = (service: string): Explained => ({
  original: `"gateway/services/${service}"`,
  replacement: '""',
  why: "the key of a service only has to be unlike every other key, and nobody reads it"
})

/** By file; each is still there, which `Report.test.ts` checks. */
export const explained: Readonly<Record<string, ReadonlyArray<Explained>>> = {
  "src/domain/Money.ts": [
    { original: "a < b", replacement: "a <= b", why: "of two equal amounts either is the smaller" },
    {
      original: '"MinorUnits"',
      replacement: '""',
      why: "a brand is a type's name, and nothing of it is left when the program runs"
    }
  ],
  "src/services/settlement/Settlement.ts": [keyOf("Settlement")],
  "src/services/settlement/Review.ts": [keyOf("Review")],
  "src/services/settlement/OutcomePoller.ts": [
    keyOf("OutcomePoller"),
    {
      original: 'record.kind !== "collection"',
      replacement: "false",
      why: "only a collection ever waits for a code, as waitsForCode says: the kind is for the compiler, which then knows expiresAt"
    }
  ]
}
