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
    for (const folder of ["src", "test", "deploy", "docs/reliability"]) mkdirSync(join(root, folder), { recursive: true })
    write("src/Ledger.ts", "1")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    expect(notCommitted(root)).toEqual([])
    write("docs/reliability/runs.jsonl", "a record plays no part")
    expect(notCommitted(root)).toEqual([])
    write("src/Ledger.ts", "2")
    write("test/New.ts", "3")
    write("deploy/haproxy.cfg", "4")
    git("add", "src")
    expect(notCommitted(root)).toEqual(["src/Ledger.ts", "deploy/haproxy.cfg", "test/New.ts"])
  } finally {
    rmSync(root, { recursive: true })
  }
})
