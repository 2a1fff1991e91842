import { join } from "node:path"
import { Effect, ManagedRuntime } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { examplesOf, machineNode, projectWith, run } from "../support/CopiedClients.ts"
import { itWith } from "../support/Installed.ts"
import { Stack, tenantOn, webhooksOf } from "../support/Stack.ts"

describe("the examples of the TypeScript client's page", () => {
  const gateway = ManagedRuntime.make(Stack.layer())
  const project = projectWith(["typescript"], ["@types/node", "undici-types"])
  const main = project.write(
    "main.ts",
    `${examplesOf("typescript", { "payment-gateway-client": "./typescript/src/Gateway.ts" })}
const { body: bytes, headers } = JSON.parse(process.env["DELIVERY"] ?? "")
for (const body of [bytes, bytes + " "])
  console.log((await receive(new Request("https://shop.example/hooks", { method: "POST", headers, body }))).status)
`
  )
  const compiled = join(project.folder, "dist/main.js")
  let compiler = ""
  beforeAll(async () => {
    compiler = await project.compile({ outDir: "dist", lib: ["es2023"], types: ["node"], skipLibCheck: true })
  })
  afterAll(async () => {
    project.remove()
    await gateway.dispose()
  })

  const works = (...command: ReadonlyArray<string>) =>
    gateway.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const stack = yield* Stack
          const tenant = yield* tenantOn(stack.gateway)
          const hooks = yield* webhooksOf(stack.gateway, tenant)
          yield* tenant.post("/v1/payouts", payout)
          const [delivery] = yield* hooks.count(1)
          const { apiKey: api_key, appId: app_id, keyId: key_id, secret: signing_secret } = tenant.key
          const { printed, status } = yield* Effect.promise(() =>
            run(command, {
              GATEWAY_URL: stack.gateway.url,
              GATEWAY_KEY: JSON.stringify({ app_id, key_id, api_key, signing_secret }),
              WEBHOOK_SECRET: hooks.secret,
              DELIVERY: JSON.stringify(delivery)
            })
          )
          expect([status, printed.trimEnd().split("\n")]).toEqual([0, told])
        })
      )
    )

  it("compile as they stand", () => {
    expect(compiler).toBe("")
  })
  it("run on the bundled Node", () => works(process.execPath, main))
  itWith(machineNode, "--version")("run on the machine's Node, compiled", () => works(machineNode, compiled))
  itWith("deno", "--version")("run on Deno", () => works("deno", "run", "--allow-env", "--allow-net", main))
  itWith("bun", "--version")("run on Bun", () => works("bun", "run", main))
})

const payout = {
  amount_minor: 1_000,
  currency: "UGX",
  country: "UG",
  method: "momo",
  destination: { type: "momo", msisdn: "256772121234", network: "MTN", country: "UG" }
}

const told = [
  "successful 11000n",
  "missing 8999914000n",
  "UGX 87000n",
  "payout 10000n",
  "payout 1000n",
  "finished salaries_2026_11-2 successful",
  "payout.successful 1000n",
  "204",
  "400"
]
