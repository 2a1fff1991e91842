import { expect, it } from "vitest"
import type { ReceivedSpan } from "../../test/support/OtlpReceiver.ts"
import { traceTree } from "./Tree.ts"

const span = (one: Partial<ReceivedSpan> & Pick<ReceivedSpan, "name" | "spanId">): ReceivedSpan => ({
  traceId: "a".repeat(32),
  parentId: "",
  kind: 1,
  startNanos: "1000000",
  endNanos: "3500000",
  attributes: {},
  links: [],
  events: [],
  status: 0,
  resource: {},
  ...one
})

it("a trace is a tree: each span below its parent, in the order in which they began, with what it says", () => {
  const tree = traceTree([
    span({ name: "POST", spanId: "3", parentId: "2", startNanos: "2000000", attributes: { "http.response.status_code": 503 } }),
    span({ name: "PayoutDispatch.send", spanId: "2", parentId: "1", startNanos: "1500000" }),
    span({ name: "Idempotency.claim", spanId: "4", parentId: "1", startNanos: "1200000" }),
    span({ name: "POST /v1/payouts", spanId: "1" }),
    span({
      name: "OutcomePoller.poll",
      spanId: "5",
      parentId: "lost",
      startNanos: "9000000",
      endNanos: "9100000",
      links: [{ traceId: "b", spanId: "6" }]
    })
  ])
  expect(tree.split("\n").map((line) => line.replace(/ +/g, " ").trim())).toEqual([
    `trace ${"a".repeat(32)}`,
    "0.0 2.5 POST /v1/payouts",
    "0.2 2.3 Idempotency.claim",
    "0.5 2.0 PayoutDispatch.send",
    "1.0 1.5 POST status_code 503",
    "8.0 0.1 OutcomePoller.poll 1 link"
  ])
  expect(tree).toMatch(/^ +0\.5 +2\.0 {4}PayoutDispatch\.send$/m)
  expect(tree).toMatch(/^ +1\.0 +1\.5 {6}POST /m)
})

it("of no span is nothing printed", () => {
  expect(traceTree([])).toBe("")
})
