import { readdir, readFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Effect, Schema } from "effect"

const ROOT = resolve(import.meta.dirname, "..", "..", "..")

/** The folders of the manual. Those in `docs` keep their path; those in `clients` are served below `/docs`. */
const folders = [
  { folder: "docs/integrating", at: "/docs/integrating" },
  { folder: "docs/contract", at: "/docs/contract" },
  ...["signing", "typescript", "typescript/src", "effect", "effect/src", "cli", "cli/src", "bruno", "bruno/environments"].map(
    (name) => ({
      folder: `clients/${name}`,
      at: `/docs/clients/${name}`
    })
  )
]

const SERVED = /\.(md|json|py|php|ts|go|java|bru)$/

/** A file of the repository that the gateway serves. */
export interface ManualFile {
  /** From the root of the repository, such as `docs/integrating/start.md`. */
  readonly file: string
  /** The path of its URL, such as `/docs/integrating/start`. */
  readonly path: string
  readonly text: string
}

/** The path under which a file is served by its own name: a page as Markdown. */
export const writtenPathOf = ({ file }: ManualFile): string => (file.startsWith("docs/") ? `/${file}` : `/docs/${file}`)

/** All paths of a page as Markdown; a folder's README is also served under the folder's name. */
export const writtenPathsOf = (one: ManualFile): ReadonlyArray<string> => [writtenPathOf(one), `${one.path}.md`]

/** The contract as it is served, without the lists of tests, which readers without the repository cannot follow. */
const asServed = (folder: string, text: string): string =>
  folder === "docs/contract" ? text.replaceAll(/^ +- \[`test\/.*\n/gm, "") : text

/** The manual is missing next to the program, usually because only `src` was copied. */
class ManualMissing extends Schema.TaggedError<ManualMissing>()("ManualMissing", {
  folder: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `cannot read ${this.folder}, which the gateway serves below /docs (${this.reason}); install docs/integrating, docs/contract and clients beside src`
  }
}

/** Reads the manual when the server starts. A page's URL has no file extension, and a README has its folder's URL. */
export const readManual = (root: string = ROOT): Effect.Effect<ReadonlyArray<ManualFile>, ManualMissing> =>
  Effect.map(
    Effect.forEach(folders, ({ at, folder }) => readFolder(root, folder, at), { concurrency: "unbounded" }),
    (files) => files.flat()
  )

const readFolder = (root: string, folder: string, at: string) =>
  Effect.tryPromise({
    try: async (): Promise<ReadonlyArray<ManualFile>> => {
      const names = (await readdir(join(root, folder))).filter((name) => SERVED.test(name)).toSorted()
      if (names.length === 0) throw new Error("it is empty")
      return Promise.all(
        names.map(async (name) => ({
          file: `${folder}/${name}`,
          path: name === "README.md" ? at : `${at}/${name.replace(/\.md$/, "")}`,
          text: asServed(folder, await readFile(join(root, folder, name), "utf8"))
        }))
      )
    },
    catch: (error) => new ManualMissing({ folder, reason: error instanceof Error ? error.message : String(error) })
  })
