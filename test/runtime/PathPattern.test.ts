import { describe, expect, it } from "vitest"
import { pathPattern } from "../../src/runtime/PathPattern.ts"

describe("a path pattern", () => {
  const read = pathPattern("/banks/:country/:bank/branches", /^[A-Za-z0-9]+$/)
  const readPath = (path: string) => read(path.split("/"))

  it("gives the parameters of a path by their names", () => {
    expect(readPath("/banks/UG/01/branches")).toEqual({ country: "UG", bank: "01" })
  })

  it.each([
    "/banks/UG/01",
    "/banks/UG/01/branches/",
    "/banks/UG//branches",
    "/banks/U%47/01/branches",
    "/Banks/UG/01/branches",
    "/banks/UG/0;1/branches"
  ])("is not that of %s", (path) => {
    expect(readPath(path)).toBeUndefined()
  })
})
