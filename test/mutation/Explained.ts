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

const spanOf = (name: string): Explained => ({
  original: `"${name}"`,
  replacement: '""',
  why: "the name of a span, which people read in a trace and nothing decides by"
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
  ],
  "src/services/admission/Velocity.ts": [keyOf("Velocity")],
  "src/services/routing/Failover.ts": [keyOf("Failover")],
  "src/services/collections/ChargeGuard.ts": [
    keyOf("ChargeGuard"),
    spanOf("ChargeGuard.placeWhenFree"),
    {
      original: "Option.isSome(stored)",
      replacement: "true",
      why: "the guard has just read this record, and records are not removed: the second read finds it"
    },
    {
      original: 'status === "successful"',
      replacement: "true",
      line: 'status === "successful" && completedAt !== null && completedAt < since',
      why: "what else was completed before the request failed or expired, and that stands in nobody's way either"
    }
  ]
}
