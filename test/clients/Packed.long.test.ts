import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { machineNode, run } from "../support/CopiedClients.ts"

const root = join(import.meta.dirname, "../..")
const clients = ["typescript", "effect", "cli"]
const npm = process.env["npm_execpath"] === undefined ? ["npm"] : [process.execPath, process.env["npm_execpath"]]
/** For three compilers and npm on a machine that does much else. */
const LONGEST_MS = 300_000
const NOBODY = '{ app_id: "shop", key_id: "k_1", api_key: "a", signing_secret: "s" }'

/** The folders of the packages, and the compiler, as in the repository; and beside them somebody's project with what npm made of them. */
describe("the packages, packed and installed without a registry", () => {
  const folder = mkdtempSync(join(tmpdir(), "packages-"))
  const project = join(folder, "project")
  const link = (name: string): void => {
    mkdirSync(dirname(join(project, "node_modules", name)), { recursive: true })
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name))
  }
  const runs = (...command: ReadonlyArray<string>) => run(command, { HOME: folder, XDG_CONFIG_HOME: folder }, project)
  beforeAll(async () => {
    for (const client of clients)
      cpSync(join(root, "clients", client), join(folder, "clients", client), {
        recursive: true,
        filter: (source) => !/[\\/](dist|node_modules)$/.test(source)
      })
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
    mkdirSync(project)
    writeFileSync(join(project, "package.json"), '{"private":true,"type":"module"}')
    const alone = ["--offline", "--no-audit", "--no-fund", "--cache", join(folder, "cache")]
    const packed = await run([...npm, "pack", ...alone, ...clients.map((client) => `./clients/${client}`)], {}, folder)
    expect(packed, packed.printed).toMatchObject({ status: 0 })
    const files = globSync("*.tgz", { cwd: folder }).map((file) => `../${file}`)
    expect(files).toHaveLength(clients.length)
    // Effect is the project's own, and is linked below.
    const installed = await run([...npm, "install", ...alone, "--legacy-peer-deps", ...files], {}, project)
    expect(installed, installed.printed).toMatchObject({ status: 0 })
    for (const name of ["effect", "@types/node", "undici-types"]) link(name)
  }, LONGEST_MS)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it("have modules, types and a page, and nothing else", () => {
    const packages = globSync("node_modules/payment-gateway-*/**/*.*", { cwd: project })
    const kinds = packages.map((file) => file.replace(/\/dist\/.*?(?=(\.d)?\.[jt]s$)/, "/dist/*"))
    const both = (name: string) => ["README.md", "dist/*.d.ts", "dist/*.js", "package.json"].map((file) => `${name}/${file}`)
    const cli = both("payment-gateway-cli").filter((file) => !file.endsWith(".d.ts"))
    const required = "payment-gateway-client/dist/commonjs/package.json"
    const expected = [...cli, required, ...both("payment-gateway-client"), ...both("payment-gateway-effect")]
    expect([...new Set(kinds)].toSorted()).toEqual(expected.toSorted().map((file) => `node_modules/${file}`))
  })

  it("give up in time on the machine's own Node, also where its memory is cleared meanwhile", async () => {
    writeFileSync(
      join(project, "silence.js"),
      `import { createServer } from "node:net"
import { Gateway } from "payment-gateway-client"

const silent = createServer(() => {}).listen(0, "127.0.0.1", async () => {
  const url = "http://127.0.0.1:" + silent.address().port
  const gateway = new Gateway({ url, key: ${NOBODY}, timeoutMs: 500, retries: { attempts: 1 } })
  setInterval(gc, 20)
  setTimeout(() => process.exit(console.log("it hangs")), 10_000)
  console.log(await gateway.account.float({ signal: new AbortController().signal }).catch(({ code }) => code))
  process.exit()
})
`
    )
    expect(await runs(machineNode, "--expose-gc", "silence.js")).toEqual({ status: 0, printed: "no_answer\n" })
  })

  it("have types that a strict project compiles with, and modules that run on the machine's own Node", async () => {
    writeFileSync(
      join(project, "main.ts"),
      `import { Effect } from "effect"
import { Gateway, isGatewayError, type Schema } from "payment-gateway-client"
import { Gateway as Service } from "payment-gateway-effect"

const options = { url: "http://127.0.0.1:1", key: ${NOBODY}, retries: { attempts: 1 } }
const payout: Schema.Payout | string = await new Gateway(options).payouts
  .get("AAA688MG9KT6BQ76F4NM4BJRH5")
  .catch((error: unknown) => (isGatewayError(error) ? error.code : "another error"))
const program = Effect.gen(function* () {
  const gateway = yield* Service
  const payout = yield* gateway.payouts.get("AAA688MG9KT6BQ76F4NM4BJRH5")
  return payout.amount_minor > 0n
}).pipe(Effect.catchTag("RetriableError", ({ error }) => Effect.succeed(error.code)))
console.log(payout, await Effect.runPromise(program.pipe(Effect.provide(Service.layer(options)))))
`
    )
    const strict = { strict: true, target: "es2022", module: "nodenext", types: ["node"], skipLibCheck: true, outDir: "dist" }
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: strict, include: ["main.ts"] }))
    const compiled = await runs(process.execPath, join(root, "node_modules/typescript/bin/tsc"), "-p", project)
    expect(compiled).toEqual({ status: 0, printed: "" })
    expect(await runs(machineNode, "dist/main.js")).toEqual({ status: 0, printed: "no_answer no_answer\n" })
  })

  it(
    "give the client to an empty folder: imported, required, and with its types for both",
    async () => {
      const empty = mkdtempSync(join(tmpdir(), "empty-"))
      const here = (...command: ReadonlyArray<string>) => run(command, { HOME: empty }, empty)
      const [file = ""] = globSync("payment-gateway-client-*.tgz", { cwd: folder })
      const alone = ["--offline", "--no-audit", "--no-fund", "--cache", join(folder, "cache")]
      const installed = await here(...npm, "install", ...alone, join(folder, file))
      expect(installed, installed.printed).toMatchObject({ status: 0 })
      const use = `
const gateway = new Gateway({ url: "http://127.0.0.1:1", key: ${NOBODY}, retries: { attempts: 1 } })
gateway.payouts.get("AAA688MG9KT6BQ76F4NM4BJRH5").catch((error) => console.log(isGatewayError(error) && error.code))
`
      const ways = {
        import: 'import { Gateway, isGatewayError } from "payment-gateway-client"',
        require: 'const { Gateway, isGatewayError } = require("payment-gateway-client")'
      }
      writeFileSync(join(empty, "run.mjs"), ways.import + use)
      writeFileSync(join(empty, "run.cjs"), ways.require + use)
      for (const program of ["run.mjs", "run.cjs"])
        expect(await here(machineNode, program), program).toEqual({ status: 0, printed: "no_answer\n" })

      // Without its types everything would be `any`, which is assignable to `string`, too.
      const typed = `${use}
type Amount = Awaited<ReturnType<typeof gateway.payouts.get>>["amount_minor"]
export const amount: Amount = 1n
export const isAmount: Amount extends string ? never : "a bigint" = "a bigint"
`
      writeFileSync(join(empty, "typed.mts"), ways.import + typed)
      writeFileSync(join(empty, "typed.cts"), ways.import + typed)
      const strict = { strict: true, target: "es2022", lib: ["es2023", "dom"], module: "nodenext", types: [], noEmit: true }
      writeFileSync(join(empty, "tsconfig.json"), JSON.stringify({ compilerOptions: strict, include: ["typed.*"] }))
      const compiled = await here(process.execPath, join(root, "node_modules/typescript/bin/tsc"), "-p", empty)
      rmSync(empty, { recursive: true })
      expect(compiled).toEqual({ status: 0, printed: "" })
    },
    LONGEST_MS
  )

  it("have the tenant's command line as a program", async () => {
    const gateway = join(project, "node_modules/.bin/gateway")
    expect(existsSync(gateway)).toBe(true)
    expect(await runs(machineNode, gateway, "--version")).toEqual({ status: 0, printed: "1.0.0\n" })
    expect(await runs(machineNode, gateway, "payout", "list")).toEqual({
      status: 1,
      printed: "there is no login default: make one with gateway login\n"
    })
    writeFileSync(join(project, "key.json"), JSON.stringify({ app_id: "a", key_id: "k", api_key: "x", signing_secret: "s" }))
    const refused = await runs(machineNode, gateway, "login", "--url", "http://127.0.0.1:1", "--key", "key.json")
    expect(refused).toMatchObject({ status: 1, printed: expect.stringMatching(/^no answer from http:\/\/127.0.0.1:1 \(/) })
  })
})
