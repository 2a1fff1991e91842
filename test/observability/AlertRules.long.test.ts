import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { readRules } from "../support/AlertRules.ts"
import { itWith } from "../support/Installed.ts"

const FOLDER = join(import.meta.dirname, "../../deploy/prometheus")

/** What a program complains of; empty where it finds nothing. */
const complaints = (program: string, ...args: ReadonlyArray<string>): string => {
  const { status, stderr, stdout } = spawnSync(program, args, { cwd: FOLDER, encoding: "utf8" })
  return status === 0 ? stderr.replaceAll(/^\s*$/gm, "").trim() : `${stdout}${stderr}`
}

describe("the alerts' rules", () => {
  it("have a unit test each that sees the alert fire and end", () => {
    const units = readFileSync(join(FOLDER, "alerts_test.yml"), "utf8").split(/^ {2}- name: /m)
    const rules = readRules(join(FOLDER, "alerts.yml"))
    const checked = rules.filter(({ alert }) =>
      units.some((unit) =>
        new RegExp(`alertname: ${alert}\\n +exp_alerts:\\n[^]*alertname: ${alert}\\n +exp_alerts: \\[\\]`).test(unit)
      )
    )
    expect(rules.filter((rule) => !checked.includes(rule)).map(({ alert }) => alert)).toEqual([])
  })

  itWith("promtool", "--version")("are valid, and their unit tests hold", () => {
    expect(complaints("promtool", "check", "config", "prometheus.yml")).toBe("")
    expect(complaints("promtool", "check", "rules", "alerts.yml")).toBe("")
    expect(complaints("promtool", "test", "rules", "alerts_test.yml")).toBe("")
  })

  itWith("amtool", "--version")("go to receivers in a configuration that Alertmanager takes", () => {
    expect(complaints("amtool", "check-config", "alertmanager.yml")).toBe("")
  })
})
