import { spawn } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import process from "node:process"
import { Effect, ManagedRuntime } from "effect"
import { afterAll, describe, expect } from "vitest"
import { itWith } from "../support/Installed.ts"
import { Stack, tenantOn } from "../support/Stack.ts"
import { givenPerson } from "./Person.ts"

const MAIN = join(import.meta.dirname, "../../clients/cli/src/main.ts")
const CTRL_C = "\u0003"
const QUESTION = "Send 3 payouts? Type 3 to send them: "
const TOTAL =
  "3 payouts: UGX 3000 (3000 minor) and fees of UGX 3000 (3000 minor), UGX 6000 (6000 minor) in all, of UGX 6000 (6000 minor)"

describe("payout run at a terminal", () => {
  const runtime = ManagedRuntime.make(Stack.layer())
  afterAll(() => runtime.dispose())
  const itAtTerminal = itWith("script", "--version")

  /** A person answers the question once it is there; then what the terminal showed, and what became of the payouts. */
  const answered = (answer: string) =>
    runtime.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const tenant = yield* tenantOn((yield* Stack).gateway, 6_000n)
          const { folder, login, variables } = yield* givenPerson(tenant)
          yield* login
          const file = join(folder, "list.csv")
          const rows = [1, 2, 3].map((row) => `1000,UGX,UG,25677212500${row},MTN\r\n`)
          yield* Effect.promise(() => writeFile(file, ["amount_minor,currency,country,msisdn,network\r\n", ...rows].join("")))
          const shown = yield* Effect.promise((signal) =>
            atTerminal([MAIN, "payout", "run", file, "--run", "nov"], variables, answer, signal)
          )
          const { body } = yield* tenant.get("/v1/transactions")
          return { ...shown, payouts: JSON.parse(JSON.stringify(body.data["items"])).length }
        })
      )
    )

  itAtTerminal("shows count and totals, sends the count that is typed, and draws a bar up to the end", async () => {
    const { code, payouts, text } = await answered("3\r")
    expect([code, payouts]).toEqual([0, 3])
    expect(text.indexOf(TOTAL)).toBeGreaterThan(-1)
    expect(text.indexOf(QUESTION)).toBeGreaterThan(text.indexOf(TOTAL))
    const bars = [...text.matchAll(/\rESC\[2K\[([#-]{30})\] (\d)\/3, (\d) sent, (\d) ended/g)]
    expect(bars.length).toBeGreaterThanOrEqual(3)
    expect(bars[0]?.[2]).toBe("0")
    expect(bars.at(-1)?.slice(1)).toEqual(["#".repeat(30), "3", "3", "3"])
    const [, after = ""] = text.split("3/3, 3 sent, 3 ended").slice(-2)
    // The bar is wiped before the result stands in its line.
    expect(after.replaceAll("\r\n", "\n")).toMatch(/^\rESC\[2K3 successful\nThe report is in /)
  })

  itAtTerminal("sends nothing where something else is typed than the count", async () => {
    for (const answer of ["y\r", "\r", "33\r"]) {
      const { code, payouts, text } = await answered(answer)
      expect([code, payouts]).toEqual([1, 0])
      expect(text).toContain("nothing was sent")
    }
  })

  itAtTerminal("sends nothing where the question is answered with Ctrl-C", async () => {
    const { code, payouts, text } = await answered(CTRL_C)
    expect([code, payouts]).toEqual([130, 0])
    expect(text).toContain("nothing was sent")
  })
})

/** util-linux's script gives the process a terminal of its own, and ends as it does. */
const atTerminal = (
  words: ReadonlyArray<string>,
  variables: Readonly<Record<string, string | undefined>>,
  answer: string,
  signal: AbortSignal
) =>
  new Promise<{ readonly code: number | null; readonly text: string }>((resolve, reject) => {
    const line = [process.execPath, ...words].map((word) => `'${word}'`).join(" ")
    const env = { ...process.env, ...variables, COLUMNS: "200", TERM: "xterm" }
    const terminal = spawn("script", ["-qec", `stty cols 200; exec ${line}`, "/dev/null"], {
      env,
      signal,
      stdio: ["pipe", "pipe", "inherit"]
    })
    let text = ""
    let isAnswered = false
    terminal.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8")
      if (isAnswered || !text.includes(QUESTION)) return
      isAnswered = true
      terminal.stdin.write(answer)
    })
    terminal.once("error", reject)
    terminal.once("close", (code) => resolve({ code, text: text.replaceAll("\u001b", "ESC") }))
  })
