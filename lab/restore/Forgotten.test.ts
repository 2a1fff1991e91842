import { expect, it } from "vitest"
import type { Operation } from "../chaos/Load.ts"
import type { Execution } from "../chaos/Verdict.ts"
import { changeBy, type Difference, forgottenAfter, movedTwice, ownersOf, unexplainedOf } from "./Forgotten.ts"

const operation = (amount: number, reference: string | undefined, settled: Operation["settled"]): Operation => ({
  tenant: { app_id: `tenant of ${amount}`, key_id: "k", api_key: "k", signing_secret: "s" },
  kind: "payout",
  ending: "1000",
  amount,
  key: String(amount),
  body: {},
  attempts: 1,
  reference,
  settled
})
const moved = (amount_minor: number, client_reference: string | null, provider = "eversend"): Execution => ({
  direction: "payout",
  client_reference,
  amount_minor,
  provider
})
const missing = (amount: number, reference: string): Difference => ({
  kind: "missing_here",
  direction: "payout",
  reference,
  ours: null,
  theirs: `successful ${amount} GHS`
})

const operations = [operation(501, "KEPT", "accepted"), operation(502, "GONE", "accepted"), operation(503, undefined, undefined)]
const executions = [moved(501, "KEPT"), moved(502, "GONE"), moved(503, "UNHEARD")]
const found = (differences: ReadonlyArray<Difference>, all = executions) =>
  forgottenAfter({ operations, known: new Set(["KEPT"]), executions: all, differences })

it("a movement that neither the database nor reconcile names is unlisted", () => {
  const { answered, listed, unlisted } = found(
    [missing(502, "GONE"), missing(503, "UNHEARD")],
    [...executions, moved(504, null), moved(505, "MTN", "mtn")]
  )
  expect(answered.map(({ reference }) => reference)).toEqual(["GONE"])
  expect(listed).toEqual([
    { reference: "GONE", direction: "payout", amount_minor: 502 },
    { reference: "UNHEARD", direction: "payout", amount_minor: 503 }
  ])
  expect(unlisted).toEqual(["a movement without a reference"])
  expect(found([{ ...missing(502, "GONE"), kind: "state" }]).unlisted).toEqual(["GONE", "UNHEARD"])
})

it("what was forgotten and what was never sent explains a difference, and nothing else does", () => {
  const forgotten = found([])
  const never: Difference = {
    kind: "missing_there",
    direction: "payout",
    reference: "KEPT",
    ours: "pending 501 GHS",
    theirs: null
  }
  const unfinished = { ...missing(506, "UNFINISHED"), direction: "collection", theirs: "pending 506 GHS" }
  expect(unexplainedOf([missing(502, "GONE"), never, unfinished], forgotten)).toEqual([])
  const wrong = [
    missing(505, "OTHER"),
    { ...unfinished, direction: "payout" },
    { ...never, ours: "successful 501 GHS" },
    { ...missing(502, "GONE"), kind: "amount" }
  ]
  expect(unexplainedOf(wrong, forgotten)).toEqual(wrong)
})

it("a movement is its tenant's by its amount, also where that had no answer; twice is told", () => {
  const ownerOf = ownersOf(operations)
  expect(ownerOf(moved(503, "UNHEARD")).app_id).toBe("tenant of 503")
  expect(() => ownerOf(moved(9, "X"))).toThrow("nobody asked for a payout of 9")
  expect(movedTwice([...executions, moved(502, "AGAIN")])).toEqual(["payout of 502, 2 times"])
})

it("a payout takes its amount and fee, and a charge gives its amount less the fee, rounded up", () => {
  expect(changeBy({ direction: "payout", amount_minor: 500 })).toBe(-1000)
  expect(changeBy({ direction: "collection", amount_minor: 501 })).toBe(493)
})
