import { spawn } from "node:child_process"
import { Effect, Layer, Logger, ManagedRuntime } from "effect"
import { afterAll, describe, expect } from "vitest"
import { Capability } from "../../../src/domain/Tenant.ts"
import { isTree, type Tree, treeOf } from "../../../src/http/description/OpenApiSchemas.ts"
import { EXAMPLE_ORIGIN } from "../../../src/http/description/SignedCurl.ts"
import { itWith } from "../../support/Installed.ts"
import { interfaceDescription } from "../../support/InterfaceDescription.ts"
import { Stack, tenantOn } from "../../support/Stack.ts"

const runtime = ManagedRuntime.make(Layer.provideMerge(Stack.layer(), Logger.layer([])))
afterAll(() => runtime.dispose())

/** The script that the reference shows for an operation; undefined where it shows none. */
const sampleOf = (operation: unknown): string | undefined => {
  const samples = treeOf(operation)["x-codeSamples"]
  const [sample] = Array.isArray(samples) ? samples.filter(isTree) : []
  return sample === undefined ? undefined : String(sample["source"])
}

const samples: ReadonlyMap<string, string> = new Map(
  Object.entries(treeOf(interfaceDescription()["paths"])).flatMap(([path, item]) =>
    Object.entries(treeOf(item)).flatMap(([method, operation]) => {
      const sample = sampleOf(operation)
      return sample === undefined ? [] : [[`${method.toUpperCase()} ${path}`, sample] as const]
    })
  )
)

const execute = (script: string, env: Readonly<Record<string, string>>): Promise<string> =>
  new Promise((resolve, reject) => {
    const shell = spawn("sh", ["-eu"], { env: { PATH: process.env["PATH"], ...env }, stdio: ["pipe", "pipe", "pipe"] })
    let [printed, complained] = ["", ""]
    shell.stdout.on("data", (chunk) => (printed += chunk))
    shell.stderr.on("data", (chunk) => (complained += chunk))
    shell.on("error", reject).on("close", (code) => {
      if (code === 0) resolve(printed)
      else reject(new Error(`${code}: ${complained}`))
    })
    shell.stdin.end(script)
  })

describe("the example of an operation in the reference", () => {
  itWith("sh", "-c", "openssl version && curl --version")(
    "is a script that signs the request wherever it is copied to",
    async () => {
      const { gateway, key } = await runtime.runPromise(
        Effect.gen(function* () {
          const { gateway } = yield* Stack
          return { gateway, ...(yield* tenantOn(gateway, 1_000_000n, { capabilities: Capability.literals })) }
        })
      )
      const env = {
        APP_ID: key.appId,
        KEY_ID: key.keyId,
        API_KEY: key.apiKey,
        SIGNING_SECRET: key.secret,
        COUNTRY: "UG",
        BANK_CODE: "040",
        NAME: "erp"
      }
      const send = async (operation: string, given: Readonly<Record<string, string>> = {}): Promise<Tree> => {
        const script = (samples.get(operation) ?? "").replaceAll(EXAMPLE_ORIGIN, gateway.url)
        return JSON.parse(await execute(script, { ...env, ...given }))
      }
      const payout = await send("POST /v1/payouts")
      expect(payout).toMatchObject({ code: 201, data: { kind: "payout", amount_minor: 10_000 } })
      const reference = String(treeOf(payout["data"])["reference"])
      expect(await send("GET /v1/payouts/{reference}", { REFERENCE: reference })).toMatchObject({
        code: 200,
        data: { reference }
      })
      expect(await send("POST /v1/collections")).toMatchObject({ code: 201 })
      expect(await send("DELETE /v1/beneficiaries")).toMatchObject({ code: 200, data: { purged: 1 } })

      const others = [...samples.keys()].filter((operation) => !/docs|openapi|POST \/v1\/(payouts|collections)$/.test(operation))
      expect(others.length).toBeGreaterThan(25)
      const waiting = [...others]
      const answered: Array<readonly [string, unknown]> = []
      const worker = async () => {
        for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
          answered.push([next, (await send(next, { REFERENCE: reference, ID: reference }))["code"]])
      }
      await Promise.all([worker(), worker(), worker()])
      expect(answered.filter(([, code]) => typeof code !== "number" || code === 401)).toEqual([])
    },
    600_000
  )
})
