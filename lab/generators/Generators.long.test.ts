import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { afterAll, describe, expect } from "vitest"
import { run } from "../../test/support/CopiedClients.ts"
import { itWith } from "../../test/support/Installed.ts"
import { interfaceDescription } from "../../test/support/InterfaceDescription.ts"

/** Installed by `npm ci --prefix lab/generators`: they need a TypeScript that has its compiler as a library, and the repository's has not. */
const installed = join(import.meta.dirname, "node_modules")

interface Generator {
  readonly name: string
  readonly program: string
  readonly args: ReadonlyArray<string>
  /** How a program names a payout's body and its record. */
  readonly types: string
}

const generators: ReadonlyArray<Generator> = [
  {
    name: "openapi-typescript",
    program: join(installed, "openapi-typescript/bin/cli.js"),
    args: ["openapi.json", "-o", "generated.ts"],
    types: `import type { components } from "./generated"
type Body = components["schemas"]["CreatePayoutRequest"]
type Payout = components["schemas"]["Payout"]`
  },
  {
    name: "@hey-api/openapi-ts",
    program: join(installed, "@hey-api/openapi-ts/bin/run.js"),
    args: ["-i", "openapi.json", "-o", "generated", "-s"],
    types: `import type { CreatePayoutRequest as Body, Payout } from "./generated"`
  },
  {
    name: "swagger-typescript-api",
    program: join(installed, "swagger-typescript-api/dist/cli.mjs"),
    args: ["generate", "-p", "openapi.json", "-o", ".", "-n", "generated.ts", "--silent", "--generate-union-enums"],
    types: `import type { CreatePayoutRequest as Body, Payout } from "./generated"`
  }
]

/** Members of metadata are written and read, and what is generated has types: with `any` all would compile. */
const use = (types: string) => `${types}
export const body: Body = {
  amount_minor: 10000,
  currency: "UGX",
  country: "UG",
  method: "momo",
  destination: { type: "momo", msisdn: "256772123456", network: "MTN", country: "UG" },
  metadata: { order: "A-7", lines: [{ sku: "x", count: 2 }] }
}
export const orderOf = ({ metadata }: Payout): unknown => metadata["order"]
type IsAny<T> = 0 extends 1 & T ? true : false
export const typed: [IsAny<Body["amount_minor"]>, IsAny<Payout["status"]>, IsAny<Payout["fees_minor"]>] = [false, false, false]
`

describe("the types that a generator makes of the OpenAPI description", () => {
  const made: Array<string> = []
  afterAll(() => made.map((folder) => rmSync(folder, { recursive: true })))

  /** What the generator and the compiler say: nothing where all is well. */
  const saidOf = async ({ args, program, types }: Generator, description: object): Promise<string> => {
    const folder = mkdtempSync(join(tmpdir(), "generated-"))
    made.push(folder)
    const write = (file: string, text: string) => writeFileSync(join(folder, file), text)
    symlinkSync(installed, join(folder, "node_modules"))
    write("package.json", '{"type":"module"}')
    write("openapi.json", JSON.stringify(description))
    write("use.ts", use(types))
    const compilerOptions = {
      target: "es2022",
      lib: ["es2022", "dom", "dom.iterable"],
      module: "esnext",
      noEmit: true,
      types: []
    }
    const strict = { strict: true, moduleResolution: "bundler" }
    write("tsconfig.json", JSON.stringify({ compilerOptions: { ...compilerOptions, ...strict }, include: ["use.ts"] }))
    const { printed, status } = await run([process.execPath, program, ...args], {}, folder)
    if (status !== 0) return printed
    return (await run([process.execPath, join(installed, "typescript/bin/tsc"), "-p", folder], {}, folder)).printed
  }

  for (const generator of generators)
    itWith(
      process.execPath,
      generator.program,
      "--version"
    )(`compile, and take members of metadata: ${generator.name}`, async () => {
      expect(await saidOf(generator, interfaceDescription())).toBe("")
    })

  const [strictest] = generators
  if (strictest !== undefined)
    itWith(
      process.execPath,
      strictest.program,
      "--version"
    )("take no members of an object whose description does not say that it has others", async () => {
      const closed = JSON.parse(JSON.stringify(interfaceDescription()).replaceAll(',"additionalProperties":true', ""))
      expect(await saidOf(strictest, closed)).toMatch(/use\.ts.*error TS2322/)
    })
})
