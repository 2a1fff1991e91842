import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"
import { Effect, Option } from "effect"

/** Identifies processes, even though process numbers are reused. */
export const LocalProcess = {
  /** A text that is equal only for the same process; `none` when there is no such process or it is a zombie. */
  identity: (pid: number): Effect.Effect<Option.Option<string>> =>
    answer(() => (onLinux ? identityFromProc(pid) : ps(pid, "lstart="))),

  /** The command line; `none` when there is no such process. Readable without ptrace rights, which root lacks in a container. */
  commandLine: (pid: number): Effect.Effect<Option.Option<ReadonlyArray<string>>> =>
    answer(async () => {
      if (!onLinux) return (await ps(pid, "args="))?.split(" ")
      const text = await readFile(`/proc/${pid}/cmdline`, "utf8")
      return text === "" ? undefined : text.split("\0")
    }),

  /** `false` when the process was already gone. */
  signal: (pid: number, name: "SIGINT" | "SIGKILL"): Effect.Effect<boolean> =>
    answer(async () => process.kill(pid, name)).pipe(Effect.map(Option.isSome))
}

const onLinux = existsSync("/proc/self/stat")

/** A process that ends while it is examined is a normal result here, not a failure. */
const answer = <A>(ask: () => Promise<A | undefined>): Effect.Effect<Option.Option<A>> =>
  Effect.tryPromise(ask).pipe(Effect.option, Effect.map(Option.flatMap(Option.fromUndefinedOr)))

const identityFromProc = async (pid: number): Promise<string | undefined> => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8")
  const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8")
  // The name in parentheses may contain spaces; the state is field 3 and the start time field 22 of proc_pid_stat(5).
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return fields[0] === "Z" ? undefined : `${pid} ${fields[19]} ${boot.trim()}`
}

const ps = async (pid: number, column: string): Promise<string | undefined> => {
  const { stdout } = await promisify(execFile)("ps", ["-ww", "-o", column, "-p", String(pid)])
  return stdout.trim() === "" ? undefined : stdout.trim()
}
