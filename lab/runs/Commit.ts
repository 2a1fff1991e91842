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
    return head(ROOT)
  } catch (error) {
    if (isForRecord) throw error
    return "none"
  }
}

/**
 * Asked before a run is put on record: its processes start anew from the files, so that another commit in between was played, too. Fails, and does
 * not end the process: what the run has started is still to be ended.
 */
export const mustStillPlay = (commit: string, root = ROOT): void => {
  const [now, changed] = [head(root), notCommitted(root)]
  if (now === commit && changed.length === 0) return
  throw new Error(`not put on record: ${commit} began, and in the end it was ${[now, ...changed].join(", ")}`)
}

/** Files that differ from the commit, or are not in it. */
export const notCommitted = (root: string): ReadonlyArray<string> =>
  git(root, "status", "--porcelain", "--untracked-files=all", "--", ".", ":!docs/reliability")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.slice(3))

export const head = (root: string): string => git(root, "rev-parse", "--short=12", "HEAD").trim()

const git = (root: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", ["-C", root, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
