import { execFileSync } from "node:child_process"
import { join } from "node:path"

const ROOT = join(import.meta.dirname, "..", "..")

/**
 * The commit that this process plays, whatever is checked out when it ends; "none" in a copy that has no history. A run for the record needs one
 * that anybody can check out: where a file of the program or its tests is not in it, the process ends with exit code 2.
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

/** Files of the program, its tests and its libraries that differ from the commit, or are not in it. */
export const notCommitted = (root: string): ReadonlyArray<string> =>
  git(root, "status", "--porcelain", "--", "src", "test", "package.json", "package-lock.json")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.slice(3))

const git = (root: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", ["-C", root, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
