import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "vitest"
import { itWith } from "../../test/support/Installed.ts"
import { head, mustStillPlay, notCommitted } from "./Commit.ts"

const inRepository = (use: (root: string, commit: () => void) => void) => {
  const root = mkdtempSync(join(tmpdir(), "committed-"))
  const own = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
  const git = (...args: ReadonlyArray<string>) => execFileSync("git", ["-C", root, ...own, ...args])
  const commit = () => {
    git("add", ".")
    git("commit", "--quiet", "-m", "a commit")
  }
  try {
    git("init", "--quiet")
    for (const folder of ["src", "test", "deploy", "docs/reliability"]) mkdirSync(join(root, folder), { recursive: true })
    writeFileSync(join(root, "src/Ledger.ts"), "1")
    commit()
    use(root, commit)
  } finally {
    rmSync(root, { recursive: true })
  }
}

itWith("git", "--version")("a run for the record has all that it plays in its commit", () =>
  inRepository((root) => {
    expect(notCommitted(root)).toEqual([])
    writeFileSync(join(root, "docs/reliability/runs.jsonl"), "a record plays no part")
    expect(notCommitted(root)).toEqual([])
    writeFileSync(join(root, "src/Ledger.ts"), "2")
    writeFileSync(join(root, "test/New.ts"), "3")
    writeFileSync(join(root, "deploy/haproxy.cfg"), "4")
    expect(notCommitted(root).toSorted()).toEqual(["deploy/haproxy.cfg", "src/Ledger.ts", "test/New.ts"])
  })
)

itWith("git", "--version")("a run is not put on record where its program changed while it ran", () =>
  inRepository((root, commit) => {
    const began = head(root)
    mustStillPlay(began, root)
    writeFileSync(join(root, "src/Ledger.ts"), "2")
    expect(() => mustStillPlay(began, root)).toThrow(/not put on record.*src\/Ledger\.ts/)
    commit()
    expect(() => mustStillPlay(began, root)).toThrow("not put on record")
    mustStillPlay(head(root), root)
  })
)
