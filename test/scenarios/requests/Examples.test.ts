import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { examples } from "../../../src/http/description/OpenApiOperations.ts"
import { executeExamples, lasting } from "../../support/ExecutedExamples.ts"
import { Stack } from "../../support/Stack.ts"

const FILE = join(import.meta.dirname, "../../../src/http/api/examples.json")

layer(Stack.layer(), { excludeTestServices: true })("the examples of the OpenAPI description", (it) => {
  it.effect("get the documented responses when they are executed", () =>
    Effect.gen(function* () {
      const executed = yield* executeExamples((yield* Stack).gateway)
      // `WRITE_EXAMPLES=1` keeps what was answered as the examples.
      if (process.env["WRITE_EXAMPLES"] !== undefined)
        yield* Effect.promise(() => writeFile(FILE, `${JSON.stringify(executed, null, 2)}\n`))
      expect(Object.keys(examples).sort()).toStrictEqual(Object.keys(executed).sort())
      expect(lasting(examples)).toStrictEqual(lasting(executed))
    })
  )
})
