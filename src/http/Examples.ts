import executed from "./examples.json" with { type: "json" }

/** A request's body and what was answered to it; of a list only the first row. */
export interface Example {
  readonly request?: unknown
  readonly answer: unknown
}

/** By method and route template. The file holds what was said when test/scenarios/Examples.test.ts did it, which does it again each time. */
export const examples: Readonly<Record<string, Example>> = executed
