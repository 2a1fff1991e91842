import { expect, it } from "vitest"
import { toldBy } from "./Told.ts"

const failed = (error: string, before = "") =>
  toldBy({ code: 1, text: `${before}\n FAIL  a > first\n FAIL  a > second\n${error}\n` })

it("a mistake is noticed where a test fails, for the error of the first", () => {
  expect(failed("AssertionError: expected 1")).toMatchObject({ outcome: "caught", said: "a > first: AssertionError: expected 1" })
})

it("a mistake in a statement that PostgreSQL cannot run is broken, not noticed", () => {
  const log = "  _tag: \u001b[32m'SqlError'\u001b[39m, reason: { _tag: \u001b[32m'SqlSyntaxError'\u001b[39m"
  expect(failed("effect/sql/SqlError: Query failed", log).outcome).toBe("broken")
})

it("what a rule of the database refused is noticed, with its reason", () => {
  const log = '  reason: { _tag: "ConstraintError",\n    cause: Error: new row violates "float_adds_up"'
  const said = 'a > first: effect/sql/SqlError: Query failed, new row violates "float_adds_up"'
  expect(failed("effect/sql/SqlError: Query failed", log)).toMatchObject({ outcome: "caught", said })
})

it("tests that pass have missed it, and tests that never ran say nothing of it", () => {
  expect(toldBy({ code: 0, text: "all passed" }).outcome).toBe("missed")
  expect(toldBy({ code: 1, text: "no such module" })).toMatchObject({ outcome: "broken", said: "no such module" })
})
