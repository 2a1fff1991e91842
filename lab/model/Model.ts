import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The protocol of one payout, in Promela; `spin` makes a program of it that visits every state. */
const MODEL = join(import.meta.dirname, "payout.pml")
/** Deeper than any of its paths. */
const DEPTH = 500_000

/** What a rule is, without which the model has a fault, and how that is found. */
export interface Rule {
  /** The macro `WITHOUT_…` that takes it out. */
  readonly macro: string
  readonly rule: string
  readonly breaks: Broken
  /** So few states are visited that every `npm run test:long` does it. */
  readonly isQuick?: true
}
type Broken = "float" | "failed is true" | "nothing invented" | "ends"

/** Each rule of the protocol that guards money, and one by which everything ends. */
export const rules: ReadonlyArray<Rule> = [
  { macro: "PINNED_KEY", rule: "a key that has its payout makes no other one", breaks: "float", isQuick: true },
  { macro: "FENCE", rule: "only the newest claim of a key opens a payout", breaks: "float", isQuick: true },
  { macro: "FENCE_OF_REFUSAL", rule: "only the newest claim keeps a refusal", breaks: "failed is true", isQuick: true },
  { macro: "TIME_LIMIT", rule: "a record that is too old is not sent", breaks: "failed is true", isQuick: true },
  { macro: "REROUTE_BEFORE_SENDING", rule: "the record is moved before another provider is called", breaks: "failed is true" },
  { macro: "FAILOVER_AFTER_NOT_SENT_ALONE", rule: "without an answer, no other provider is tried", breaks: "failed is true" },
  { macro: "GRACE", rule: '"not found" proves nothing for a time', breaks: "failed is true", isQuick: true },
  { macro: "GRACE_LONGER_THAN_CALLS", rule: "that time outlasts every call", breaks: "failed is true", isQuick: true },
  { macro: "PROVIDER_OF_ANSWER", rule: "an answer counts for the provider that gave it", breaks: "failed is true" },
  { macro: "REVISION", rule: "a decision is committed only on the record that was read", breaks: "nothing invented" },
  { macro: "ASKING", rule: "no timer fails a payout", breaks: "failed is true", isQuick: true },
  { macro: "POLLS_AT_MOST", rule: "after so many polls it goes to a person", breaks: "ends" }
]

/** The property in the words of spin's report. */
const faults: ReadonlyArray<readonly [Broken, RegExp]> = [
  ["ends", /acceptance cycle/u],
  ["float", /assertion violated \(\(paid_out==/u],
  ["failed is true", /assertion violated \(\s*!\(\(\(status==\d+\)\|\|was_refused/u],
  ["nothing invented", /assertion violated \(\(\(available>=0/u]
]

export interface Checked {
  /** The whole of it was visited. */
  readonly isComplete: boolean
  readonly states: number
  readonly broken: Broken | "another property" | null
}

interface Check {
  readonly without?: string
  /** Two with one key; one where what is asked is whether everything ends, which needs ten times the states. */
  readonly requests?: 1 | 2
  /** Whether everything ends, in place of what is true in every state. */
  readonly ends?: true
}

/** Visits every state of the model, or as many as it takes to find a fault. Needs `spin` and `gcc`; throws where one of them fails. */
export const checkModel = async ({ ends, requests = 2, without }: Check): Promise<Checked> => {
  const folder = await mkdtemp(join(tmpdir(), "model-"))
  try {
    const macros = [`-DREQUESTS=${requests}`, ...(without === undefined ? [] : [`-DWITHOUT_${without}`])]
    await run(folder, "spin", [...macros, "-a", MODEL])
    // What is broken is found soonest by the shortest way; what is right is visited depth first, which needs less memory.
    const search =
      ends === undefined ? ["-DSAFETY", "-DNOCLAIM", without === undefined ? "-DCOLLAPSE" : "-DBFS"] : ["-DNFAIR=3", "-DCOLLAPSE"]
    // To optimise takes two seconds, of which a quick visit would use a tenth.
    const isQuick = rules.some((one) => one.macro === without && one.isQuick === true)
    await run(folder, "gcc", [isQuick ? "-O0" : "-O2", ...search, "-o", "pan", "pan.c"])
    const said = await run(folder, "./pan", [...(ends === undefined ? [] : ["-a", "-f"]), `-m${DEPTH}`])
    return read(said)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const read = (said: string): Checked => {
  const errors = /errors: (\d+)/u.exec(said)?.[1]
  const states = Number(/(\d[\d.e+]*) states, stored/u.exec(said)?.[1] ?? Number.NaN)
  if (errors === undefined || Number.isNaN(states)) throw new Error(`spin's program reported nothing:\n${said}`)
  const broken = errors === "0" ? null : (faults.find(([, words]) => words.test(said))?.[0] ?? "another property")
  return { isComplete: broken === null && !/search not completed|max search depth too small/iu.test(said), states, broken }
}

const run = async (cwd: string, command: string, args: ReadonlyArray<string>): Promise<string> => {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] })
  const output: Array<string> = []
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => output.push(String(data)))
  const [code] = await once(child, "close")
  const said = output.join("")
  if (code !== 0) throw new Error(`${command} ended with ${code}:\n${said}`)
  return said
}
