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
  },
  {
    name: "a switched-off provider counts as one that the corridor does not have",
    breaks: "what belongs to a provider that is switched off is nobody else's",
    test: "test/scenarios/routing/ProviderSwitches.test.ts",
    edits: [
      {
        file: "src/services/routing/Routes.ts",
        text: "const ordered = failoverOrder(row, pin, (name) => lacking(name) === null)",
        instead: "const ordered = failoverOrder(row, pin, (name) => lacking(name) === null && !out.has(name))"
      }
    ]
  },
  {
    name: "open a payment at a provider that was switched off while it was asked for a price",
    breaks: "nothing new goes to a provider that is switched off",
    test: "test/scenarios/routing/ProviderSwitches.test.ts",
    edits: [
      {
        file: "src/services/routing/Routes.ts",
        text: "yield* requireSwitchedOn(provider)\n        const { moneyHeldMs, name } = provider",
        instead: "const { moneyHeldMs, name } = provider"
      }
    ]
  }
]
