import { spawnSync } from "node:child_process"
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { gateway } from "../commands/Gateway.ts"
import { itWith } from "../support/Installed.ts"

const root = resolve(import.meta.dirname, "..", "..")
const read = (file: string) => readFileSync(join(root, file), "utf8")
/** Without what is said to people only. */
const code = (file: string) => read(file).replaceAll(/^\s*#.*$/gm, "")
const kubernetes = globSync("deploy/kubernetes/**/*.yaml", { cwd: root })
const units = globSync("deploy/systemd/*", { cwd: root })
const manifests = ["deploy/Containerfile", "deploy/compose.yml", "deploy/make-secrets.sh", ...kubernetes, ...units]

/** Of the images beside the gateway's, of Node, of the manifests themselves. */
const notSettings = /^(POSTGRES_|GF_|AF_|NODE_|PROMETHEUS_IMAGE$|ALERTMANAGER_IMAGE$|HAPROXY_IMAGE$|GRAFANA_IMAGE$)/

describe("the manifests of deploy/", () => {
  it("set only what docs/settings.md names", () => {
    const page = read("docs/settings.md")
    const named = manifests.flatMap((file) => code(file).match(/\b(?:[A-Z][A-Z0-9]*(?:_+[A-Z0-9]+)+|HOST|PORT)\b/g) ?? [])
    expect(named.length).toBeGreaterThan(40)
    expect(named.filter((name) => !notSettings.test(name) && !page.includes(`\`${name}\``))).toEqual([])
  })

  it("ask the management port for paths that it has, at the port where it is", () => {
    const served = [...read("src/observability/Management.ts").matchAll(/case "(\/\w+)"/g)].map(([, path]) => path)
    const asked = ["deploy/healthy.js", ...kubernetes].flatMap((file) =>
      [...code(file).matchAll(/(?:path: |"8081"\})(\/\w+)/g)].map(([, path]) => path)
    )
    expect(asked.length).toBeGreaterThan(4)
    expect(asked.filter((path) => !served.includes(path))).toEqual([])
    const [, port = ""] = /MANAGEMENT_PORT=(\d+)/.exec(read("deploy/Containerfile")) ?? []
    expect(code("deploy/kubernetes/deployment.yaml")).toContain(`{ name: management, containerPort: ${port} }`)
    expect(code("deploy/kubernetes/service.yaml")).toContain(`{ name: management, port: ${port}, targetPort: management }`)
    expect(code("deploy/prometheus/prometheus.yml")).toContain(`["gateway-1:${port}", "gateway-2:${port}"]`)
  })

  it("let a pod run as nobody in particular, change nothing of its image, and take so much memory", () => {
    const text = kubernetes.map(code).join("\n")
    const count = (part: string) => text.split(part).length - 1
    const containers = count("image: payment-gateway")
    expect(containers).toBe(5)
    const required = [
      "runAsNonRoot: true",
      "readOnlyRootFilesystem: true",
      "allowPrivilegeEscalation: false",
      "drop: [ALL]",
      "limits: { memory:",
      "seccompProfile: { type: RuntimeDefault }"
    ]
    for (const part of required) expect([part, count(part)]).toEqual([part, containers])
  })

  it.effect("call only commands that there are", () =>
    Effect.gen(function* () {
      const shells = globSync("deploy/*.sh", { cwd: root })
      const called = [...manifests, ...shells].flatMap((file) =>
        [...code(file).matchAll(/(?:^|[^.])\b(?:src\/gateway\.js"?,?|gateway)\)? "?([a-z]+)"?(?: ([a-z]+)\b)?/gm)]
          .filter(([line]) => line.includes("gateway.js") || file.endsWith("daily-checks.sh"))
          .map(([, first = "", second = ""]) => `${first} ${second}`.trim())
      )
      const commands = [...new Set(called)]
      expect(commands).toEqual(expect.arrayContaining(["serve", "migrate", "ledger verify", "audit verify", "provider list"]))
      const unknown = yield* Effect.filter(commands, (command) =>
        Effect.map(gateway({}, ...command.split(" "), "--help"), ({ code }) => code !== 0)
      )
      expect(unknown).toEqual([])
    })
  )

  it("have a file for each secret of compose.yml", () => {
    const used = [...code("deploy/compose.yml").matchAll(/file: \.\/secrets\/(\S+)/g)].map(([, name]) => name)
    const made = [...code("deploy/make-secrets.sh").matchAll(/^put (\S+)/gm)].map(([, name]) => name)
    expect(used.sort()).toEqual(made.sort())
  })

  it("hand a command its settings from files, and refuse a line that is none", () => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-secrets-"))
    const shown = (...names: ReadonlyArray<string>) =>
      spawnSync("sh", [join(root, "deploy/with-secrets.sh"), "printenv", ...names], {
        env: { PATH: process.env["PATH"], CREDENTIALS_DIRECTORY: folder, HOST: "127.0.0.1" },
        encoding: "utf8"
      })
    writeFileSync(join(folder, "MASTER_KEY"), "a key=\n")
    writeFileSync(join(folder, "providers.env"), "# of the providers\n\nEVERSEND_LIVE_CLIENT_ID=an id $(not run)")
    expect(shown("HOST", "MASTER_KEY", "EVERSEND_LIVE_CLIENT_ID").stdout).toBe("127.0.0.1\na key=\nan id $(not run)\n")
    writeFileSync(join(folder, "providers.env"), "no setting")
    expect(shown("HOST")).toMatchObject({ status: 1, stdout: "" })
    rmSync(folder, { recursive: true })
  })

  it("give a command no setting of a file that cannot be read, and do not run it", () => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-secrets-"))
    const cat = join(folder, "cat")
    // Root can read every file.
    writeFileSync(cat, "#!/bin/sh\necho 'cat: Permission denied' >&2; exit 1\n", { mode: 0o755 })
    writeFileSync(join(folder, "DATABASE_URL"), "postgres://…")
    const env = { PATH: `${folder}:${process.env["PATH"]}`, CREDENTIALS_DIRECTORY: folder }
    const ran = spawnSync("sh", [join(root, "deploy/with-secrets.sh"), "echo", "run"], { env, encoding: "utf8" })
    expect(ran).toMatchObject({ status: 1, stdout: "" })
    rmSync(folder, { recursive: true })
  })

  it("has a program for package.json, which runs from anywhere by a link to it", () => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-program-"))
    const { bin, version } = JSON.parse(read("package.json"))
    symlinkSync(join(root, bin.gateway), join(folder, "gateway"))
    const env = { PATH: process.env["PATH"], CREDENTIALS_DIRECTORY: folder }
    const { stdout } = spawnSync(join(folder, "gateway"), ["--version"], { cwd: folder, env, encoding: "utf8" })
    expect(stdout).toBe(`gateway v${version}\n`)
    rmSync(folder, { recursive: true })
  })

  itWith(
    "kubectl",
    "version",
    "--client"
  )("are read by kubectl as they are meant", () => {
    for (const folder of ["deploy/kubernetes", "deploy/kubernetes/migration"]) {
      const { status, stderr, stdout } = spawnSync("kubectl", ["kustomize", folder], { cwd: root, encoding: "utf8" })
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
      expect(stdout.match(/^ {2}namespace: payment-gateway$/gm)?.length).toBe(stdout.split("\n---\n").length)
    }
  })

  itWith("systemd-analyze", "--version")("are units that systemd accepts and finds well confined", () => {
    const instance = (file: string) => file.replace("check@.", "check@ledger.").replace("gateway@.", "gateway@2.")
    const services = units.filter((file) => file.endsWith(".service")).map(instance)
    const analyze = (...args: ReadonlyArray<string>) => spawnSync("systemd-analyze", args, { cwd: root, encoding: "utf8" })
    const verified = analyze("verify", "--man=no", ...services)
    expect(verified.status, verified.stderr).toBe(0)
    const judged = analyze("security", "--offline=true", "--threshold=15", ...services)
    expect(judged.status, judged.stderr).toBe(0)
  })
})
