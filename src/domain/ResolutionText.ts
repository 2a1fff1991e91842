import type { Resolution, ResolutionAction } from "./Resolution.ts"

/** The effect of a ruling, for a person who knows the float and not the code. */
export const meaningOf = (outcome: Resolution["outcome"], action: ResolutionAction): string =>
  action === "correct" ? corrections[outcome] : meanings[action]

const corrections: { readonly [O in Resolution["outcome"]]: string } = {
  successful: "money moved, with these figures where the record has others: the difference is posted, once",
  failed: "no money moved, or it went back: what was booked is taken back, once"
}

const meanings: { readonly [A in Exclude<ResolutionAction, "correct">]: string } = {
  settle: "money moved: what is reserved is paid",
  release: "nothing moved: what is reserved returns to the float",
  collect: "money came in: it is credited to the float",
  close: "nothing came in: it is closed as failed",
  keep: "it is right as it stands: the case is closed and nothing is posted"
}
