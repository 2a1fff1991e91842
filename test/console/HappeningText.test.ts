import { expect, it } from "@effect/vitest"
import { h } from "preact"
import { renderToString } from "preact-render-to-string"
import { within } from "../../src/console/Elements.ts"
import { happeningText } from "../../src/console/HappeningText.ts"

it("a call without a clear answer is a doubt while its transaction is open, and none of an outcome that came before", () => {
  expect((["requires_action", "pending"] as const).map((status) => happeningText("Unknown", status))).toEqual([
    "No clear answer: nobody knows whether it was executed",
    "No clear answer: nobody knows whether it was executed"
  ])
  expect(new Set((["successful", "failed", "expired"] as const).map((status) => happeningText("Unknown", status)))).toEqual(
    new Set(["No clear answer to a call, which changed nothing"])
  )
})

it("says a fact that it has no words for as the program says it", () => {
  expect([happeningText("Migrated", "pending"), happeningText("toString", "failed")]).toEqual(["Migrated", "toString"])
})

it("says of what is noted once an hour that it was within that hour", () => {
  const textOf = (at: number | null) => renderToString(h("p", null, within(at))).replaceAll(/<[^>]*>/g, "")
  expect([textOf(Date.parse("2026-11-30T02:00:00Z")), textOf(null)]).toEqual(["in the hour from 2026-11-30 02:00 UTC", "never"])
})
