import { Effect, Layer, Logger, ManagedRuntime } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { isTree } from "../../src/http/description/OpenApiSchemas.ts"
import { Stack, tenantOn } from "../support/Stack.ts"
import { requests, runner } from "./BrunoCollection.ts"

const runtime = ManagedRuntime.make(Layer.provideMerge(Stack.layer(), Logger.layer([])))
afterAll(() => runtime.dispose())

/** A tenant's environment, as `environments/Local.bru` names it. */
const environment = runtime.runPromise(
  Effect.gen(function* () {
    const { gateway } = yield* Stack
    const { key } = yield* tenantOn(gateway, 1_000_000n)
    return { gateway: gateway.url, app_id: key.appId, key_id: key.keyId, api_key: key.apiKey, signing_secret: key.secret }
  })
)

const at = (node: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((inner, name) => (isTree(inner) ? inner[name] : undefined), node)

describe("the Bruno collection", () => {
  it("signs every request so that the gateway does what it asks for", async () => {
    const send = runner(await environment)
    const collection = requests()
    expect(collection.length).toBeGreaterThan(12)
    for (const request of collection) {
      const res = await send(request)
      expect(request.assertions.length, request.name).toBeGreaterThan(0)
      for (const [path, expected] of request.assertions) {
        const [operator = "", wanted = ""] = expected.split(/ (.*)/)
        const choices = operator === "in" ? wanted.split(", ") : [wanted]
        expect(choices, `${request.name}: ${path} is ${JSON.stringify(res.body)}`).toContain(`${at({ res }, path)}`)
      }
    }
  })
})
