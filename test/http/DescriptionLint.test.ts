import { createConfig, lintFromString } from "@redocly/openapi-core"
import { describe, expect, it } from "vitest"
import { describeInterface } from "../../src/http/OpenApiDescription.ts"

// What the contract says against the linter's taste, each with its place.
const meant = new Set([
  // Refunds answer 501 and nothing else.
  "operation-2xx-response #/paths/~1v1~1refunds/post/responses"
])

describe("the OpenAPI description", () => {
  it("has no finding of an independent linter", async () => {
    const config = await createConfig({ extends: ["recommended"] })
    const source = JSON.stringify(describeInterface())
    const problems = await lintFromString({ source, absoluteRef: "openapi.json", config })
    const places = problems.map(({ location, ruleId }) => `${ruleId} ${location[0]?.pointer ?? ""}`)
    expect(places.filter((place) => !meant.has(place))).toStrictEqual([])
  })
})
