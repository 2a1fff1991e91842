import { spawnSync } from "node:child_process"
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Effect, Layer, Logger, ManagedRuntime } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { isTree, treeOf } from "../../../src/http/description/OpenApiSchemas.ts"
import { EXAMPLE_ORIGIN } from "../../../src/http/description/SignedCurl.ts"
import { projectWith, run } from "../../support/CopiedClients.ts"
import { itWith } from "../../support/Installed.ts"
import { interfaceDescription } from "../../support/InterfaceDescription.ts"
import { Stack, tenantOn } from "../../support/Stack.ts"

const root = join(import.meta.dirname, "../../..")
const runtime = ManagedRuntime.make(Layer.provideMerge(Stack.layer(), Logger.layer([])))
const folder = mkdtempSync(join(tmpdir(), "samples-"))
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await runtime.dispose()
})

interface Sample {
  readonly operation: string
  readonly label: string
  readonly source: string
}

const samples: ReadonlyArray<Sample> = Object.entries(treeOf(interfaceDescription()["paths"])).flatMap(([path, item]) =>
  Object.entries(treeOf(item)).flatMap(([method, described]) => {
    const all = treeOf(described)["x-codeSamples"]
    return (Array.isArray(all) ? all.filter(isTree) : []).map(({ label, source }) => ({
      operation: `${method.toUpperCase()} ${path}`,
      label: String(label),
      source: String(source)
    }))
  })
)
const sourceOf = (operation: string, label: string) =>
  samples.find((one) => one.operation === operation && one.label === label)?.source ?? ""

const languages = [
  { label: "Python", tool: ["python3", "--version"], sign: "sign.py", file: "example.py", command: "python3 example.py" },
  { label: "PHP", tool: ["php", "--version"], sign: "sign.php", file: "example.php", command: "php example.php" },
  { label: "TypeScript", tool: ["node", "--version"], sign: "sign.ts", file: "example.ts", command: "node example.ts" },
  {
    label: "Java",
    tool: ["javac", "-version"],
    sign: "Sign.java",
    file: "Example.java",
    command: "javac Example.java Sign.java && java Example"
  },
  { label: "Go", tool: ["go", "version"], sign: "sign.go", file: "example.go", command: "go run sign.go example.go caller.go" }
] as const

/** The example in Go is a function, which a program calls with its key, and with the idempotency key where it moves money. */
const goCaller = (source: string): string => `package main
import ("fmt"; "io"; "os")
func init() {
	key := Key{AppID: os.Getenv("APP_ID"), KeyID: os.Getenv("KEY_ID"), APIKey: os.Getenv("API_KEY"), SigningSecret: os.Getenv("SIGNING_SECRET")}
	answer, err := send(key${source.includes("idempotencyKey string") ? ', "order-1"' : ""})
	if err != nil { panic(err) }
	text, _ := io.ReadAll(answer.Body)
	fmt.Println(string(text))
	os.Exit(0)
}
`

describe("the examples of an operation in the reference", () => {
  it("are in a shell and in every language of the signing files, for every signed operation", () => {
    const signed = samples.filter(({ label, source }) => label === "curl" && source.includes("SIGNING_SECRET"))
    expect(signed.length).toBeGreaterThan(25)
    for (const { operation } of signed)
      for (const label of ["Python", "PHP", "TypeScript", "Go", "Java"])
        expect(sourceOf(operation, label), `${operation} ${label}`).toMatch(/Beside it: .*\/sign\.\w+|Sign\.java/)
  })

  for (const { command, file, label, sign, tool } of languages)
    itWith(tool[0], tool[1])(
      `sign and send in ${label}`,
      async () => {
        const { gateway, key } = await runtime.runPromise(
          Effect.gen(function* () {
            const { gateway } = yield* Stack
            return { gateway, ...(yield* tenantOn(gateway, 1_000_000n)) }
          })
        )
        const own = mkdtempSync(join(folder, "own-"))
        copyFileSync(join(root, "clients/signing", sign), join(own, sign))
        const names = { app_id: key.appId, key_id: key.keyId, api_key: key.apiKey, signing_secret: key.secret }
        writeFileSync(join(own, "key.json"), JSON.stringify(names))
        const env = { APP_ID: key.appId, KEY_ID: key.keyId, API_KEY: key.apiKey, SIGNING_SECRET: key.secret }
        const once = async (operation: string, given: Readonly<Record<string, string>> = {}) => {
          const source = sourceOf(operation, label).replaceAll(EXAMPLE_ORIGIN, gateway.url)
          writeFileSync(join(own, file), source)
          if (label === "Go") writeFileSync(join(own, "caller.go"), goCaller(source))
          const path = `${dirname(process.execPath)}:${process.env["PATH"]}`
          const { printed } = await run(["sh", "-c", command], { ...env, ...given, PATH: path }, own)
          return treeOf(JSON.parse(printed.slice(printed.indexOf("{"))))
        }
        // As a client does: what is refused for the moment is sent again.
        const send: typeof once = async (operation, given) => {
          const answer = await once(operation, given)
          return treeOf(answer["error"])["retriable"] === true ? send(operation, given) : answer
        }
        const paid = await send("POST /v1/payouts")
        expect(paid).toMatchObject({ code: 201, data: { kind: "payout", amount_minor: 10_000 } })
        const reference = String(treeOf(paid["data"])["reference"])
        // A compiler takes longer than all the rest.
        if (label === "Java") return
        expect(await send("GET /v1/payouts/{reference}", { REFERENCE: reference })).toMatchObject({
          code: 200,
          data: { reference }
        })
        expect(await send("DELETE /v1/beneficiaries")).toMatchObject({ code: 200, data: { purged: 1 } })
      },
      240_000
    )

  itWith("go", "version")(
    "compile in Go",
    () => {
      for (const { operation, source } of samples.filter(({ label }) => label === "Go")) {
        const own = mkdtempSync(join(folder, "go-"))
        copyFileSync(join(root, "clients/signing/sign.go"), join(own, "sign.go"))
        writeFileSync(join(own, "example.go"), source)
        const { status, stderr } = spawnSync("go", ["vet", "sign.go", "example.go"], { cwd: own, encoding: "utf8" })
        expect([status, stderr], operation).toEqual([0, ""])
      }
    },
    240_000
  )

  it("compile with the TypeScript client, in a strict project", async () => {
    const project = projectWith(["typescript"], ["@types/node", "undici-types"])
    const own = samples.filter(({ label }) => label === "TypeScript client")
    expect(own.length).toBeGreaterThan(7)
    own.forEach(({ source }, at) =>
      project.write(`example-${at}.ts`, source.replace('"payment-gateway-client"', '"./typescript/src/Gateway.ts"'))
    )
    const said = await project.compile({ noEmit: true, lib: ["es2024"], types: ["node"], skipLibCheck: true })
    project.remove()
    expect(said).toBe("")
  })
})
