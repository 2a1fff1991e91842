import { expect } from "@effect/vitest"
import { Context, Effect, type Scope } from "effect"
import { Reference } from "../../../src/domain/Ids.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { evaluations, firing, readRules } from "../../support/AlertRules.ts"
import type { Exposition } from "../../support/Exposition.ts"
import type { Operated } from "../../support/OperatedGateway.ts"
import { eventually } from "../../support/SignedClient.ts"

export interface Fault {
  /** What goes wrong, and where it can be mended, until when: its alerts end then. */
  readonly about: string
  readonly alerts: ReadonlyArray<string>
  readonly story: (operated: Operated, before: Exposition) => Effect.Effect<unknown, unknown, Scope.Scope>
}

export const rules = readRules("deploy/prometheus/alerts.yml")

/** What fires now, by counters that have grown since `before`. */
export const fired = ({ now, page }: Operated, before: Exposition) =>
  Effect.gen(function* () {
    const after = yield* page
    const atSeconds = yield* now
    return rules.filter((rule) => firing(rule, { before, after, atSeconds }).length > 0).map(({ alert }) => alert)
  })

/** As in deploy/prometheus/prometheus.yml. */
const EVALUATED_EVERY_SECONDS = 15

/** Fires, and while the fault lasts the expression holds at as many scrapes in a row as the rule's `for` spans. */
export const fires = Effect.fnUntraced(function* (operated: Operated, before: Exposition, alert: string) {
  yield* eventually(fired(operated, before), (alerts) => alerts.includes(alert))
  const inARow = rules.filter((rule) => rule.alert === alert).map((rule) => evaluations(rule, EVALUATED_EVERY_SECONDS) - 1)
  for (let more = inARow[0] ?? 0; more > 0; more--) expect(yield* fired(operated, before)).toContain(alert)
})
export const ends = (operated: Operated, alert: string) =>
  Effect.flatMap(operated.page, (before) => eventually(fired(operated, before), (alerts) => !alerts.includes(alert)))

export const statusOf = ({ run }: Operated) => Effect.map(run("status", "--json"), ({ output }): unknown => JSON.parse(output))

export const grownOlder = ({ sql }: Operated, reference: string, age: string) =>
  sql`UPDATE transactions SET created_at = created_at - ${age}::interval WHERE reference = ${reference}`

/** What a provider's support says about what it never executed. */
export const neverExecuted = ({ gateway }: Operated, reference: string, kind: "other" | "pool" = "other") =>
  Context.get(gateway.context, Settlement).apply({
    reference: Reference.make(reference),
    fact: {
      _tag: "Refused",
      kind,
      providerReference: null,
      failure: { code: "unknown", message: "" },
      note: "never executed"
    },
    actor: "reconciler"
  })
