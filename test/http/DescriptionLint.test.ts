import { createConfig, lintFromString } from "@redocly/openapi-core"
import { describe, expect, it } from "vitest"
import { describeInterface } from "../../src/http/description/OpenApiDescription.ts"

describe("the OpenAPI description", () => {
  it("has no finding of an independent linter", async () => {
    const config = await createConfig({ extends: ["recommended"] })
    const source = JSON.stringify(describeInterface())
    const problems = await lintFromString({ source, absoluteRef: "openapi.json", config })
    expect(problems.map(({ location, ruleId }) => `${ruleId} ${location[0]?.pointer ?? ""}`)).toStrictEqual([])
  })
})
