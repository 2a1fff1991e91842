import { expect, it } from "vitest"
import type { Operation } from "../chaos/Load.ts"
import type { Execution } from "../chaos/Verdict.ts"
import { changeBy, forgottenAfter } from "./Forgotten.ts"

const operation = (reference: string | undefined, settled: Operation["settled"]): Operation => ({
  tenant: { app_id: "a", key_id: "k", api_key: "k", signing_secret: "s" },
  kind: "payout",
  ending: "1000",
  amount: 1000,
  key: reference ?? "key",
  body: {},
  attempts: 1,
  reference,
  settled
})
const moved = (client_reference: string | null): Execution => ({ direction: "payout", client_reference, amount_minor: 1000 })

it("a movement that neither the database nor reconcile names is unlisted", () => {
  const operations = [operation("KEPT", "accepted"), operation("GONE", "accepted"), operation(undefined, undefined)]
  const executions = [moved("KEPT"), moved("GONE"), moved("UNHEARD"), moved(null)]
  const missing = (reference: string) => ({ kind: "missing_here", reference, ours: null })
  const found = (differences: Parameters<typeof forgottenAfter>[0]["differences"]) =>
    forgottenAfter({ operations, known: new Set(["KEPT"]), executions, differences })
  const { answered, unlisted } = found([missing("GONE"), missing("UNHEARD")])
  expect(answered.map(({ reference }) => reference)).toEqual(["GONE"])
  expect(unlisted).toEqual(["a movement without a reference"])
  expect(found([{ kind: "state", reference: "GONE", ours: "pending" }]).unlisted).toContain("GONE")
})

it("a payout takes its amount and fee, and a charge gives its amount less the fee, rounded up", () => {
  expect(changeBy({ direction: "payout", client_reference: "A", amount_minor: 500 })).toBe(-1500)
  expect(changeBy({ direction: "collection", client_reference: "A", amount_minor: 501 })).toBe(493)
})
