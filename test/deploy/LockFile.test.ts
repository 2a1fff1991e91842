import { existsSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import { describe, expect, it } from "vitest"

interface Entry {
  readonly integrity?: string
  readonly resolved?: string
  readonly hasInstallScript?: boolean
  /** A package of our own, which stands in this repository. */
  readonly link?: boolean
}

const read = (file: string) => JSON.parse(readFileSync(resolve(import.meta.dirname, "../..", file), "utf8"))
const packages: Readonly<Record<string, Entry>> = read("package-lock.json").packages
const own = Object.values(packages).flatMap(({ link, resolved = "" }) => (link === true ? [resolved] : []))
const installed = Object.entries(packages).filter(([path, { link }]) => path !== "" && !own.includes(path) && link !== true)

describe("the lock file", () => {
  it("has the hash of every package, also of those that only other platforms install", () => {
    expect(installed.length).toBeGreaterThan(300)
    const unchecked = installed.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ""))
    expect(unchecked.map(([path]) => path)).toEqual([])
  })

  it("names no place to load from: the registry is the installing machine's choice, and the hash is checked wherever it is", () => {
    expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([])
    expect(own.toSorted()).toEqual([...read("package.json").workspaces].toSorted())
    expect(own.filter((folder) => !existsSync(resolve(import.meta.dirname, "../..", folder, "package.json")))).toEqual([])
  })

  it("lists each package that has an install script, as allowed or refused, and npm runs no other", () => {
    const listed: Readonly<Record<string, boolean>> = read("package.json").allowScripts
    const withScript = installed.filter(([, { hasInstallScript }]) => hasInstallScript === true)
    const names = withScript.map(([path]) => path.split("node_modules/").at(-1) ?? "")
    expect(names.length).toBeGreaterThan(3)
    expect(names.filter((name) => typeof listed[name] !== "boolean")).toEqual([])
    expect(readFileSync(resolve(import.meta.dirname, "../../.npmrc"), "utf8")).toMatch(/^strict-allow-scripts=true$/m)
  })
})
