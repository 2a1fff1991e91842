import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join, resolve } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { bugs } from "./Bugs.ts"
import { recorded, rows } from "./Record.ts"

const ROOT = resolve(import.meta.dirname, "..", "..")
const OXLINT = join(ROOT, "node_modules", ".bin", "oxlint")

it("every mistake of the list can still be planted: the text that it replaces occurs once", () => {
  const places = bugs.flatMap(({ edits, name }) =>
    edits.map(({ file, text }) => [name, file, readFileSync(join(ROOT, file), "utf8").split(text).length - 1] as const)
  )
  expect(places.filter(([, , count]) => count !== 1)).toStrictEqual([])
})

it("no mistake of the list names what is not there: the program would fail whatever the mistake", async () => {
  const folder = await mkdtemp(join(tmpdir(), "planted-names-"))
  try {
    for (const [index, { edits }] of bugs.entries())
      for (const [file, planted] of Object.entries(Object.groupBy(edits, ({ file }) => file)).filter(([file]) =>
        file.endsWith(".ts")
      )) {
        const text = (planted ?? []).reduce(
          (now, edit) => now.replace(edit.text, () => edit.instead),
          readFileSync(join(ROOT, file), "utf8")
        )
        await writeFile(join(folder, `${index} ${basename(file)}`), text)
      }
    await writeFile(join(folder, "rules.json"), JSON.stringify({ env: { builtin: true, node: true } }))
    const linted = await promisify(execFile)(OXLINT, ["-c", "rules.json", "-A", "all", "-D", "no-undef", "."], {
      cwd: folder
    }).then(
      () => "",
      ({ stdout }: { stdout: string }) => stdout
    )
    expect(linted).toBe("")
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

it("docs/reliability/mistakes.md shows what became of each mistake in docs/reliability/planted.json", () => {
  const page = readFileSync(join(ROOT, "docs", "reliability", "mistakes.md"), "utf8")
  const shown = page.split("\n| Mistake |")[1]?.trim().split("\n").slice(2)
  expect(shown).toEqual(rows(bugs, recorded()))
})
