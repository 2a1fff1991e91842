import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { describe, expect, it } from "vitest"

const SBOM_BYTES = 16 * 1024 * 1024

interface Entry {
  /** Where it is not that of its folder. */
  readonly name?: string
  readonly version?: string
  readonly license?: string
  readonly dev?: boolean
  readonly devOptional?: boolean
  /** Of a package of our own: its folder in this repository. */
  readonly resolved?: string
}

interface Component {
  /** Name and version; the name of its own, whatever folder it was put into. */
  readonly "bom-ref": string
  readonly licenses?: ReadonlyArray<object>
  readonly hashes?: ReadonlyArray<object>
}

const root = resolve(import.meta.dirname, "..")
const read = (file: string) => readFileSync(resolve(root, file), "utf8")
const packages: Readonly<Record<string, Entry>> = JSON.parse(read("package-lock.json")).packages
const own = ["", ...Object.values(packages).flatMap(({ resolved = [] }) => resolved)]
const installed = Object.entries(packages).filter(([path, { resolved }]) => !own.includes(path) && resolved === undefined)
const isOfDevelopment = ({ dev, devOptional }: Entry): boolean => dev === true || devOptional === true

/** The table of the page: which licence may be used for what. */
const allowed = new Map(
  [...read("docs/security/dependencies.md").matchAll(/^\| (\S.*?) \| (all|development) \|/gm)].map(([, name = "", use = ""]) => [
    name,
    use
  ])
)

/** What is wrong with a package's licence. */
const offence = ([path, entry]: readonly [string, Entry]): string | undefined => {
  const { license = "" } = entry
  const use = allowed.get(license)
  return use === "all" || (use === "development" && isOfDevelopment(entry)) ? undefined : `${path}: ${license || "no licence"}`
}

describe("the licences", () => {
  it("of all packages are in the table, and those of what a gateway runs are allowed for it", () => {
    expect(installed.length).toBeGreaterThan(300)
    expect(installed.flatMap((one) => offence(one) ?? [])).toEqual([])
    expect(offence(["node_modules/a", { license: "MPL-2.0" }])).toBe("node_modules/a: MPL-2.0")
    expect(offence(["node_modules/a", { dev: true }])).toBe("node_modules/a: no licence")
  })

  it("of the table are each of some package", () => {
    const used = new Set(installed.map(([, { license }]) => license))
    expect([...allowed.keys()].filter((name) => !used.has(name))).toEqual([])
    expect(allowed.size).toBeGreaterThan(5)
  })
})

describe("our own packages", () => {
  it("have the release's version, and no licence until the owner has chosen one", () => {
    const manifests = own.map((folder) => JSON.parse(read(`${folder || "."}/package.json`)))
    const { version } = manifests[0]
    expect(manifests).toHaveLength(4)
    for (const manifest of manifests) expect(manifest).toMatchObject({ version, private: true, license: "UNLICENSED" })
    expect(/^## (\S+)$/m.exec(read("CHANGELOG.md"))?.[1]).toBe(version)
  })
})

describe("npm run sbom", () => {
  it("lists every package as the lock file has it, in CycloneDX, with its licence and its hash", () => {
    const { status, stdout } = spawnSync("npm", ["run", "-s", "sbom"], { cwd: root, encoding: "utf8", maxBuffer: SBOM_BYTES })
    expect(status).toBe(0)
    const { bomFormat, components }: { bomFormat: string; components: ReadonlyArray<Component> } = JSON.parse(stdout)
    expect(bomFormat).toBe("CycloneDX")
    const nameOf = (path: string) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)
    const locked = installed.map(([path, { name, version }]) => `${name ?? nameOf(path)}@${version}`)
    const ours = own.map((folder) => `${packages[folder]?.name}@${packages[folder]?.version}`)
    const others = components.filter((one) => !ours.includes(one["bom-ref"]))
    expect(new Set(others.map((one) => one["bom-ref"]))).toEqual(new Set(locked))
    expect(others.filter(({ hashes = [], licenses = [] }) => hashes.length === 0 || licenses.length === 0)).toEqual([])
  })
})
