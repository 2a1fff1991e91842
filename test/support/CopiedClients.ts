import { spawn } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"

const root = join(import.meta.dirname, "../..")

const strict = {
  target: "es2022",
  module: "nodenext",
  rewriteRelativeImportExtensions: true,
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  noPropertyAccessFromIndexSignature: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  verbatimModuleSyntax: true,
  erasableSyntaxOnly: true
}

/** A project of somebody else's, outside of the repository, with copies of clients and links to installed packages. */
export const projectWith = (clients: ReadonlyArray<string>, packages: ReadonlyArray<string>) => {
  const folder = mkdtempSync(join(tmpdir(), "clients-"))
  for (const client of clients) cpSync(join(root, "clients", client), join(folder, client), { recursive: true })
  for (const one of packages) {
    const link = join(folder, "node_modules", one)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, "node_modules", one), link)
  }
  writeFileSync(join(folder, "package.json"), '{"type":"module"}')
  return {
    folder,
    write: (file: string, text: string): string => {
      writeFileSync(join(folder, file), text)
      return join(folder, file)
    },
    /** Answers what the compiler says; nothing where all is well. */
    compile: async (options: object): Promise<string> => {
      const include = ["*.ts", ...clients.map((client) => `${client}/src`)]
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: { ...strict, ...options }, include }))
      return (await run([process.execPath, join(root, "node_modules/typescript/bin/tsc"), "-p", folder])).printed
    },
    remove: (): void => rmSync(folder, { recursive: true, force: true })
  }
}

/** The TypeScript examples of a client's page, as one program; `paths` says where its imports are found. */
export const examplesOf = (client: string, paths: Readonly<Record<string, string>>): string => {
  const page = readFileSync(join(root, "clients", client, "README.md"), "utf8")
  const program = [...page.matchAll(/```ts\n([^]*?)```/g)].map(([, block]) => block).join("\n")
  return Object.entries(paths).reduce((text, [name, path]) => text.replaceAll(`"${name}"`, `"${path}"`), program)
}

/** The Node that the machine has besides the one of the package. */
export const machineNode =
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !folder.includes("node_modules"))
    .map((folder) => join(folder, "node"))
    .find((program) => existsSync(program)) ?? "node"

/** Runs a program to its end, while this process goes on, and tells it nothing of the npm that runs this one. */
export const run = (
  [command = "", ...args]: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {},
  cwd: string = root
): Promise<{ readonly status: number | null; readonly printed: string }> =>
  new Promise((resolve) => {
    const inherited = Object.entries(process.env).filter(([name]) => name !== "FORCE_COLOR" && !name.startsWith("npm_"))
    const child = spawn(command, args, { cwd, env: { ...Object.fromEntries(inherited), NO_COLOR: "1", ...environment } })
    let printed = ""
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (printed += text))
    child.on("close", (status) => resolve({ status, printed }))
  })
