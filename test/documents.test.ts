import { existsSync, globSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { ledgerRules } from "../src/persistence/ledger/LedgerVerificationPg.ts"
import { gateway } from "./commands/Gateway.ts"

// What holds for the contract, for every link and for the tour: one run for all documents.
import "./documents/Commands.ts"
import "./documents/Contract.ts"
import "./documents/Deployment.ts"
import "./documents/Form.ts"
import "./documents/GoingLive.ts"
import "./documents/Integrating.ts"
import "./documents/Links.ts"
import "./documents/Quotations.ts"
import "./documents/Reliability.ts"
import "./documents/Security.ts"
import "./documents/Settings.ts"
import "./documents/Testing.ts"
import "./documents/Tour.ts"

const root = resolve(import.meta.dirname, "..")
const read = (file: string) => readFileSync(join(root, file), "utf8")
const guides = ["operations", "runbooks"].flatMap((folder) =>
  readdirSync(join(root, "docs", folder)).map((file) => `docs/${folder}/${file}`)
)

describe("SECURITY.md", () => {
  const threats = read("SECURITY.md").split("## Threats and controls")[1]?.split("\n## ")[0] ?? ""
  const controls = threats
    .split(/\n(?=- \*\*)/)
    .slice(1)
    .map((control) => control.replaceAll(/\s+/g, " "))

  it("names a test that exists for every control", () => {
    const offences = controls.flatMap((control) => {
      const named = [...control.matchAll(/`((?:[a-z]+\/)+\w+)`(?: “([^”]+)”)?/g)]
      const absent = named.filter(([, file = "", title = ""]) => {
        const path = [".test.ts", ".long.test.ts"].map((end) => `test/${file}${end}`).find((one) => existsSync(join(root, one)))
        return path === undefined || !read(path).includes(title)
      })
      return named.length === 0 ? [control] : absent.map(([test]) => test)
    })
    expect(controls.length).toBeGreaterThan(25)
    expect(offences).toEqual([])
  })
})

describe("the operators' guides", () => {
  it.effect("name only commands that there are", () =>
    Effect.gen(function* () {
      const named = guides.flatMap((file) =>
        [...read(file).matchAll(/`gateway ([a-z]+)(?: ([a-z]+))?/g)].map(([, first = "", second = ""]) =>
          `${first} ${second}`.trim()
        )
      )
      const commands = [...new Set(named)]
      expect(commands.length).toBeGreaterThan(8)
      const unknown = yield* Effect.filter(commands, (command) =>
        Effect.map(gateway({}, ...command.split(" "), "--help"), ({ code }) => code !== 0)
      )
      expect(unknown).toEqual([])
      expect((yield* gateway({}, "float", "guess", "--help")).code).not.toBe(0)
    })
  )

  it("show a trace with the names that spans have", () => {
    const [, trace = ""] = /```text\n(trace [^]*?)```/.exec(read("docs/operations/investigating.md")) ?? []
    // Calls and statements are named by the exporter.
    const named = [...new Set(trace.match(/(?<= )[A-Z][A-Za-z]+\.[a-z]\w*(?![.\w])/g))]
    const source = globSync("src/**/*.ts", { cwd: root }).map(read).join("\n")
    expect(named.length).toBeGreaterThan(8)
    expect(named.filter((name) => !source.includes(`"${name}"`))).toEqual([])
  })

  it("explain every rule of ledger verify: what it means and what to do", () => {
    const runbook = read("docs/runbooks/ledger-difference.md")
    const rows = [...runbook.matchAll(/^\| `(\w+)` \|/gm)].map(([, rule]) => rule)
    expect(rows).toEqual(ledgerRules.map(({ rule }) => rule))
  })

  it("link to pages that there are", () => {
    const broken = [...guides, "SECURITY.md"].flatMap((file) =>
      [...read(file).matchAll(/\]\(([^)#]+)\)/g)]
        .map(([, target = ""]) => target)
        .filter((target) => !/^https?:/.test(target) && !existsSync(resolve(root, file, "..", target)))
        .map((target) => `${file}: ${target}`)
    )
    expect(broken).toEqual([])
  })
})
