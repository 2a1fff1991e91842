import { spawnSync } from "node:child_process"
import { existsSync, globSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { parse } from "yaml"
import { Environment, settings } from "../../src/Config.ts"
import { itWith } from "../support/Installed.ts"
import { compose, containers, imageEnvironment, inImage, instructions, read, root, units } from "./DeployFiles.ts"

const { services } = compose
const ours = Object.entries(services).filter(([, { image }]) => image === "payment-gateway")
const processes = ours.flatMap(([name, service]) => (name.startsWith("gateway-") ? [service] : []))

const isInImage = (file: string): boolean => inImage.some((copied) => file === copied || file.startsWith(`${copied}/`))
/** The files of the program that a command names. */
const filesIn = (words: ReadonlyArray<string>): ReadonlyArray<string> => words.filter((word) => /^(src|deploy)\//.test(word))
const json = (text: string | undefined): ReadonlyArray<string> => JSON.parse(text ?? "[]")
const serving = json(instructions("CMD")[0])
const health = instructions("HEALTHCHECK")[0] ?? ""

const directive = (unit: string, name: string): ReadonlyArray<string> =>
  (units.find((one) => one.name === unit)?.directives ?? []).flatMap(([given, value]) => (given === name ? [value] : []))
/** What systemd runs, without the shell that reads the credentials. */
const execOf = (unit: string): ReadonlyArray<string> => (directive(unit, "ExecStart")[0] ?? "").split(" ").slice(2)

/** The names of variables that the program reads, and what is wrong with these. */
const readWith = (given: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const asked = new Set<string>()
    const variables: Record<string, string> = {
      DATABASE_URL: "postgres://gateway@127.0.0.1/gateway",
      MASTER_KEY: Buffer.alloc(32).toString("base64"),
      ...given
    }
    const watched = new Proxy(variables, { get: (target, name) => (asked.add(String(name)), target[String(name)]) })
    yield* Effect.provideService(settings, Environment, watched)
    return asked
  })
/** Of Node and of the shell. */
const ofOthers = /^(NODE_|PATH$)/

describe("the image", () => {
  it("has the files that it runs, and nothing is copied that is not there", () => {
    expect(inImage.length).toBeGreaterThan(8)
    for (const file of inImage) expect([file, existsSync(join(root, file))]).toEqual([file, true])
    const [entry] = instructions("ENTRYPOINT")
    for (const file of filesIn([...serving, ...json(entry), ...(/CMD (\[.*\])/.exec(health)?.[1]?.split('"') ?? [])]))
      expect([file, isInImage(file)]).toEqual([file, true])
    expect(instructions("EXPOSE")).toEqual([`${imageEnvironment["PORT"]} ${imageEnvironment["MANAGEMENT_PORT"]}`])
  })

  it.effect("sets what the program reads, to values that it takes", () =>
    Effect.gen(function* () {
      const asked = yield* readWith(imageEnvironment)
      expect(Object.keys(imageEnvironment).filter((name) => !asked.has(name) && !ofOthers.test(name))).toEqual([])
    })
  )

  it("checks its health by the one command, in the Docker format and wherever it is run: the OCI format keeps none", () => {
    const command = json(/CMD (\[.*\])/.exec(health)?.[1])
    expect(command).toEqual(["node", "deploy/healthy.js"])
    const timesOf = (name: string) => new RegExp(`--${name}=(\\S+)`).exec(health)?.[1]
    const times = ["interval", "timeout", "start-period"].map(timesOf)
    for (const { healthcheck } of processes) {
      expect(healthcheck?.test).toEqual(["CMD", ...command])
      expect([healthcheck?.interval, healthcheck?.timeout, healthcheck?.start_period]).toEqual(times)
    }
    expect(read("docs/operations/installing.md")).toContain(`podman run --health-cmd "${command.join(" ")}"`)
    expect(read("deploy/healthy.js")).toContain(`process.env.MANAGEMENT_PORT ?? "${imageEnvironment["MANAGEMENT_PORT"]}"`)
  })
})

describe("compose.yml", () => {
  it("names only services, networks, volumes and secrets that it declares, and each of them is used", () => {
    const all = Object.values(services)
    const named = (list: (service: (typeof all)[number]) => ReadonlyArray<string>) => [...new Set(all.flatMap(list))].sort()
    for (const name of named(({ depends_on }) => Object.keys(depends_on ?? {}))) expect(Object.keys(services)).toContain(name)
    expect(named(({ networks }) => networks)).toEqual(Object.keys(compose.networks).sort())
    expect(named(({ secrets }) => secrets ?? [])).toEqual(Object.keys(compose.secrets).sort())
    const sources = named(({ volumes }) => (volumes ?? []).map((volume) => volume.split(":", 1)[0] ?? ""))
    expect(sources.filter((source) => !source.startsWith("."))).toEqual(Object.keys(compose.volumes).sort())
    for (const source of sources.filter((one) => one.startsWith(".")))
      expect([source, existsSync(join(root, "deploy", source))]).toEqual([source, true])
  })

  it("runs what is in the image, and publishes the port of the API on this machine alone", () => {
    expect(ours.map(([name]) => name).sort()).toEqual(["checks", "gateway-1", "gateway-2", "migrate"])
    for (const [, { command = [] }] of ours)
      for (const file of filesIn(command)) expect([file, isInImage(file)]).toEqual([file, true])
    const port = imageEnvironment["PORT"]
    expect(services["haproxy"]?.ports).toEqual([`127.0.0.1:${port}:${port}`])
    for (const { expose, ports } of processes)
      expect({ expose, ports }).toEqual({ expose: [port, imageEnvironment["MANAGEMENT_PORT"]], ports: undefined })
    // Only the migration has the owner's password.
    const withOwner = ours.filter(([, { secrets = [] }]) => secrets.includes("MIGRATION_DATABASE_URL"))
    expect(withOwner.map(([name]) => name)).toEqual(["migrate"])
  })

  it("leads to each of its gateways by HAProxy, whose address they trust, and has Prometheus ask each", () => {
    const [port, management] = [imageEnvironment["PORT"], imageEnvironment["MANAGEMENT_PORT"]]
    const names = ours.map(([name]) => name).filter((name) => name.startsWith("gateway-"))
    expect(names.length).toBeGreaterThan(1)
    const servers = read("deploy/haproxy/compose.cfg").match(/^ {4}server .*$/gm)
    expect(servers).toEqual(names.map((name) => `    server ${name} ${name}:${port} check port ${management}`))
    expect(read("deploy/prometheus/prometheus.yml")).toContain(
      `targets: [${names.map((name) => `"${name}:${management}"`).join(", ")}]`
    )
    const { subnet } = compose.networks["api"]?.ipam?.config[0] ?? {}
    const shared = Object.entries(services).flatMap(([name, { networks }]) => (networks.includes("api") ? [name] : []))
    expect(shared.toSorted()).toEqual([...names, "haproxy"])
    for (const { environment } of processes) expect(environment?.["TRUSTED_PROXIES"]).toBe(subnet)
  })

  it.effect("sets what the program reads, to values that it takes", () =>
    Effect.gen(function* () {
      for (const [, { environment = {} }] of ours) {
        const asked = yield* readWith({ ...imageEnvironment, ...environment })
        expect(Object.keys(environment).filter((name) => !asked.has(name))).toEqual([])
      }
    })
  )

  it("gives each gateway as much memory as a pod and a unit has", () => {
    const megabytes = (text: string | undefined) => Number(/^(\d+)(m|M|Mi)$/.exec(text ?? "")?.[1])
    const limits = [
      ...ours.map(([, { mem_limit }]) => mem_limit),
      ...containers.map(({ resources }) => resources.limits.memory),
      ...units.map(({ name }) => directive(name, "MemoryMax")[0])
    ]
    expect(limits.length).toBe(12)
    expect([...new Set(limits.map(megabytes))]).toEqual([512])
  })
})

describe("the units of systemd", () => {
  it("run the same program as the image, with the same options of Node, whose cache is theirs alone", () => {
    expect(execOf("payment-gateway@.service")).toEqual(["deploy/with-secrets.sh", ...serving].slice(1))
    const compiled = [...read("deploy/Containerfile").matchAll(/^RUN (\["node".*\])$/gm)].flatMap(([, text]) => json(text))
    expect(compiled.slice(0, -1)).toEqual(serving.slice(0, -1))
    for (const { name } of units)
      for (const file of filesIn((directive(name, "ExecStart")[0] ?? "").split(" ")))
        expect([name, file, existsSync(join(root, file))]).toEqual([name, file, true])
  })

  it.effect("hand over settings that the program reads", () =>
    Effect.gen(function* () {
      for (const { name } of units) {
        const given = Object.fromEntries(
          directive(name, "Environment").flatMap((line) =>
            line
              .replaceAll("%i", "1")
              .split(" ")
              .map((pair) => pair.split("=", 2))
          )
        )
        const asked = yield* readWith(given)
        const credentials = directive(name, "LoadCredential").map((line) => line.split(":", 1)[0] ?? "")
        expect(credentials.length).toBeGreaterThan(1)
        const names = [...Object.keys(given), ...credentials.filter((one) => !one.endsWith(".env"))]
        expect(names.filter((one) => !asked.has(one) && !ofOthers.test(one))).toEqual([])
      }
    })
  )
})

it("a gateway starts without an operator once the database is back, though the migration before it failed", () => {
  const [unit, migration] = ["payment-gateway@.service", "payment-gateway-migrate.service"]
  const waitsFor = directive(unit, "After").flatMap((line) => line.split(" "))
  const wants = directive(unit, "Wants").flatMap((line) => line.split(" "))
  expect([waitsFor.includes(migration), wants.includes(migration)]).toEqual([true, true])
  // systemd gives a unit up for good when one of these fails (its issue 1312), whatever Restart says.
  for (const tie of ["Requires", "Requisite", "BindsTo"]) expect([tie, directive(unit, tie)]).toEqual([tie, []])
  expect([directive(unit, "Restart"), directive(unit, "StartLimitIntervalSec")]).toEqual([["on-failure"], ["0"]])
})

it("a migration has longer than the longest of its steps", () => {
  const longestHours = 6
  const { spec } = parse(read("deploy/kubernetes/migration/job.yaml"))
  expect(spec.activeDeadlineSeconds).toBeGreaterThan(longestHours * 3_600)
  const [hours = ""] = directive("payment-gateway-migrate.service", "TimeoutStartSec")
  expect(Number(/^(\d+)h$/.exec(hours)?.[1])).toBeGreaterThan(longestHours)
})

it("the units have the ports that HAProxy leads to on one machine", () => {
  const unit = "payment-gateway@.service"
  const given = Object.fromEntries(
    directive(unit, "Environment").flatMap((line) => line.split(" ").map((one) => one.split("=", 2)))
  )
  const server = (instance: string) => {
    const [port, management] = [given["PORT"], given["MANAGEMENT_PORT"]].map((text) => text?.replace("%i", instance))
    return `    server gateway-${instance} 127.0.0.1:${port} check port ${management}`
  }
  expect(read("deploy/haproxy/machine.cfg").match(/^ {4}server .*$/gm)).toEqual(["1", "2"].map(server))
  expect(given["TRUSTED_PROXIES"]).toBe("127.0.0.1")
})

itWith("shellcheck", "--version")("the scripts are accepted by shellcheck", () => {
  const scripts = globSync("deploy/**/*.sh", { cwd: root })
  expect(scripts.length).toBeGreaterThan(4)
  const { status, stdout } = spawnSync("shellcheck", scripts, { cwd: root, encoding: "utf8" })
  expect(status, stdout).toBe(0)
})
