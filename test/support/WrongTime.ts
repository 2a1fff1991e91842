import { execFileSync } from "node:child_process"
import { writeFile } from "node:fs/promises"

const NEEDED = ["LD_PRELOAD", "FAKETIME", "FAKETIME_DONT_FAKE_MONOTONIC"]

/**
 * The variables under which a program's time of day is off by so many seconds, as on a machine whose clock is wrong. What passes is right: timers
 * and the monotonic clock are the machine's. Needs `faketime` in the path.
 */
export const wrongTime = (seconds: number): Readonly<Record<string, string>> => {
  const said = execFileSync("faketime", ["-m", "--exclude-monotonic", "-f", `${seconds < 0 ? "" : "+"}${seconds}s`, "env"], {
    encoding: "utf8"
  })
  const set = new Map(said.split("\n").map((line) => [line.split("=", 1)[0], line.slice(line.indexOf("=") + 1)]))
  return Object.fromEntries(NEEDED.map((name) => [name, set.get(name) ?? ""]))
}

/** As `wrongTime`, by as much as the file says at the moment, such as `+3s`; it begins with nothing. A change is seen within a second. */
export const jumpingClock = async (file: string): Promise<Readonly<Record<string, string>>> => {
  await writeFile(file, "+0s")
  const { FAKETIME: _, ...others } = wrongTime(0)
  return { ...others, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_CACHE_DURATION: "1" }
}
