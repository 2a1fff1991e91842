import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { examples } from "../../src/http/Operations.ts"
import { executeExamples, lasting } from "../support/ExecutedExamples.ts"
import { Stack } from "../support/Stack.ts"

layer(Stack.layer(), { excludeTestServices: true })("the examples of the OpenAPI description", (it) => {
  it.effect("get the documented responses when they are executed", () =>
    Effect.gen(function* () {
      const executed = yield* executeExamples((yield* Stack).gateway)
      expect(Object.keys(examples).sort()).toStrictEqual(Object.keys(executed).sort())
      expect(lasting(examples)).toStrictEqual(lasting(executed))
    })
  )
})
