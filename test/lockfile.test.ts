import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { describe, expect, it } from "vitest"

interface Entry {
  readonly integrity?: string
  readonly dev?: boolean
  readonly optional?: boolean
}

const read = (file: string) => JSON.parse(readFileSync(resolve(import.meta.dirname, "..", file), "utf8"))
const packages: Readonly<Record<string, Entry>> = read("package-lock.json").packages
const installed = Object.entries(packages).filter(([path]) => path !== "")
const unchecked = installed.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ""))

/** The formatter and the linter, compiled for machines that no release of theirs was fetched on. */
const isForeignTool = /^node_modules\/@(biomejs\/cli|oxlint\/binding)-[a-z0-9-]+$/

describe("the lock file", () => {
  it("has the hash of every package that a gateway runs or a test imports", () => {
    expect(installed.length).toBeGreaterThan(300)
    expect(unchecked.filter(([path]) => !isForeignTool.test(path)).map(([path]) => path)).toEqual([])
  })

  it("lacks a hash only for the formatter and the linter of other platforms, which no gateway installs", () => {
    expect(unchecked.filter(([, { dev, optional }]) => dev !== true || optional !== true).map(([path]) => path)).toEqual([])
    const used = [`linux-x64`, `linux-x64-gnu`, `linux-arm64`, `linux-arm64-gnu`]
    expect(unchecked.filter(([path]) => used.some((machine) => path.endsWith(`-${machine}`))).map(([path]) => path)).toEqual([])
  })
})
