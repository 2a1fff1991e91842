import type { Bug } from "./Bug.ts"

/** Mistakes in the order of providers. */
export const routeBugs: ReadonlyArray<Bug> = [
  {
    name: "let a customer's failures count against a provider",
    breaks: "a provider is judged by its own failures",
    test: "test/domain/RoutePreference.test.ts",
    edits: [
      {
        file: "src/domain/RoutePreference.ts",
        text: 'failed: sum("failed", "not_sent")',
        instead: 'failed: sum("failed", "customer", "not_sent")'
      }
    ]
  },
  {
    name: "let an order by success flap",
    breaks: "an order by success stays for as long as a shown price may hold",
    test: "test/domain/RoutePreference.test.ts",
    edits: [
      {
        file: "src/domain/RoutePreference.ts",
        text: "const isKept = present !== null && now - present.changedAt < PRICE_KEPT_MS",
        instead: "const isKept = present !== null && now < present.changedAt"
      }
    ]
  },
  {
    name: "forget the price that was shown",
    breaks: "no change by success makes a payout dearer than a quote that has not expired",
    test: "test/scenarios/routing/PreferenceRules.test.ts",
    edits: [
      {
        file: "src/domain/RoutePreference.ts",
        text: "if (now >= keptUntil || first === undefined",
        instead: "if (now >= order.changedAt || first === undefined"
      }
    ]
  },
  {
    name: "put the dearest first",
    breaks: "the cheaper way goes first where an operator prefers price",
    test: "test/domain/RoutePreference.test.ts",
    edits: [
      {
        file: "src/domain/RoutePreference.ts",
        text: "mine > theirs ? -1 : 1",
        instead: "mine > theirs ? 1 : -1"
      }
    ]
  }
]
