import { execFileSync } from "node:child_process"
import { join } from "node:path"

const ROOT = join(import.meta.dirname, "..", "..")

/**
 * The commit that this process plays; "none" in a copy that has no history. A run for the record needs one that anybody can check out: where
 * any file but the records themselves differs from it, the process ends with exit code 2.
 */
export const commitPlayed = (isForRecord: boolean): string => {
  const changed = isForRecord ? notCommitted(ROOT) : []
  if (changed.length > 0) {
    console.error(`only a program that is committed runs for the record; changed: ${changed.join(", ")}`)
    process.exit(2)
  }
  try {
    return git(ROOT, "rev-parse", "--short=12", "HEAD").trim()
  } catch (error) {
    if (isForRecord) throw error
    return "none"
  }
}

/** Asked before a run is put on record: its processes start anew from the files, so another commit in between would have been played, too. */
export const mustStillPlay = (commit: string): void => {
  if (commitPlayed(true) === commit) return
  console.error(`not put on record: ${commit} is not checked out any more`)
  process.exit(2)
}

/** Files that differ from the commit, or are not in it. */
export const notCommitted = (root: string): ReadonlyArray<string> =>
  git(root, "status", "--porcelain", "--untracked-files=all", "--", ".", ":!docs/reliability")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.slice(3))

const git = (root: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", ["-C", root, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
