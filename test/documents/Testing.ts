import { describe, expect, it } from "vitest"
import { examples, read } from "./Pages.ts"

describe("the example of docs/testing.md", () => {
  const [shown = ""] = examples(read("docs/testing.md"), "ts")

  it("is a test file that runs", () => {
    expect(shown).toBe(read("test/fakes/Example.test.ts"))
  })

  it("has at most 25 lines", () => {
    expect(shown.trimEnd().split("\n").length).toBeLessThanOrEqual(25)
  })
})
