import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { notCommitted } from "./Commit.ts"

it("a run for the record has all that it plays in its commit", () => {
  const root = mkdtempSync(join(tmpdir(), "committed-"))
  const git = (...args: ReadonlyArray<string>) =>
    execFileSync("git", ["-C", root, "-c", "user.name=a", "-c", "user.email=a@example.com", ...args])
  const write = (file: string, text: string) => writeFileSync(join(root, file), text)
  try {
    git("init", "--quiet")
    for (const folder of ["src", "test", "docs"]) mkdirSync(join(root, folder))
    write("src/Ledger.ts", "1")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    expect(notCommitted(root)).toEqual([])
    write("docs/page.md", "a page plays no part")
    expect(notCommitted(root)).toEqual([])
    write("src/Ledger.ts", "2")
    write("test/New.ts", "3")
    git("add", "src")
    expect(notCommitted(root)).toEqual(["src/Ledger.ts", "test/"])
  } finally {
    rmSync(root, { recursive: true })
  }
})
