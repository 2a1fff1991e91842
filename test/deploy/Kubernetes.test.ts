import { spawnSync } from "node:child_process"
import { existsSync, globSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { parseAllDocuments } from "yaml"
import { Environment, settings } from "../../src/Config.ts"
import { itWith } from "../support/Installed.ts"
import {
  containers,
  imageEnvironment,
  inImage,
  kustomization,
  type Labels,
  manifestsIn,
  ofKind,
  pods,
  read,
  resources,
  root
} from "./DeployFiles.ts"

const GATEWAY = "payment-gateway"
const matches = (selector: Labels, labels: Labels): boolean =>
  Object.keys(selector).length > 0 && Object.entries(selector).every(([name, value]) => labels[name] === value)
const selected = (selector: Labels): ReadonlyArray<string> =>
  pods.filter(({ labels }) => matches(selector, labels)).map(({ name }) => name)

const one = (kind: string, name = GATEWAY) => {
  const [found] = ofKind(kind).filter(({ metadata }) => metadata.name === name)
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`)
  return found
}

const gateway = pods.find(({ name }) => name === GATEWAY)?.spec.containers[0]
const PROBES = ["startupProbe", "livenessProbe", "readinessProbe"]
const probesOf = (container: object | undefined): ReadonlyArray<{ readonly path: string; readonly port: string }> =>
  Object.entries(container ?? {}).flatMap(([name, probe]) => (PROBES.includes(name) ? [probe.httpGet] : []))

describe("the Kubernetes manifests", () => {
  it("are all applied", () => {
    const files = globSync("*.yaml", { cwd: join(root, "deploy/kubernetes") }).filter((file) => file !== "kustomization.yaml")
    expect([...kustomization.resources].sort()).toEqual([...files, "settings"].sort())
    expect(pods.map(({ name }) => name).sort()).toEqual(
      ["", "-audit-verify", "-ledger-verify", "-migration", "-reconcile"].map((end) => GATEWAY + end).sort()
    )
  })

  it("select the pods that they mean, and no others", () => {
    expect(selected(one("Deployment").spec.selector.matchLabels)).toEqual([GATEWAY])
    expect(selected(one("PodDisruptionBudget").spec.selector.matchLabels)).toEqual([GATEWAY])
    for (const { spec } of ofKind("Service")) expect(selected(spec.selector)).toEqual([GATEWAY])
    expect(selected(one("NetworkPolicy").spec.podSelector.matchLabels).length).toBe(pods.length)
    const scraped = ofKind("Service").filter(({ metadata: { labels = {} } }) =>
      matches(one("ServiceMonitor").spec.selector.matchLabels, labels)
    )
    expect(scraped.map(({ metadata }) => metadata.name)).toEqual([`${GATEWAY}-management`])
    const [spread] = one("Deployment").spec.template.spec.topologySpreadConstraints
    expect(selected(spread.labelSelector.matchLabels)).toEqual([GATEWAY])
    // A disruption has to leave one, and there have to be more.
    expect(one("Deployment").spec.replicas).toBeGreaterThan(one("PodDisruptionBudget").spec.minAvailable)
  })

  it("name ports that the gateway listens on, by one name each", () => {
    const ports = new Map((gateway?.ports ?? []).map(({ containerPort, name }) => [name, String(containerPort)]))
    expect(Object.fromEntries(ports)).toEqual({
      http: imageEnvironment["PORT"],
      management: imageEnvironment["MANAGEMENT_PORT"]
    })
    const policed = one("NetworkPolicy").spec.ingress.flatMap((rule: { ports: ReadonlyArray<{ port: string }> }) => rule.ports)
    const targets = ofKind("Service").flatMap(({ spec }) =>
      spec.ports.map(({ targetPort }: { targetPort: string }) => targetPort)
    )
    for (const name of [...policed.map(({ port }: { port: string }) => port), ...targets])
      expect([...ports.keys()]).toContain(name)
    expect(targets.sort()).toEqual([...ports.keys()].sort())
    const [{ path, port }] = one("ServiceMonitor").spec.endpoints
    const served = one("Service", `${GATEWAY}-management`).spec.ports.map(({ name }: { name: string }) => name)
    expect([served, path]).toEqual([[port], "/metrics"])
  })

  it("probe what the management port serves: what starts a pod again asks for the process alone", () => {
    const served = [...read("src/observability/Management.ts").matchAll(/case "(\/\w+)"/g)].map(([, path]) => path)
    expect(served).toEqual(expect.arrayContaining(["/livez", "/readyz", "/metrics"]))
    expect(probesOf(gateway)).toEqual([
      { path: "/livez", port: "management" },
      { path: "/livez", port: "management" },
      { path: "/readyz", port: "management" }
    ])
    // A probe comes from outside of the pod.
    expect(one("ConfigMap").data?.["MANAGEMENT_HOST"]).toBe("0.0.0.0")
  })

  it.effect("set what the program reads, to values that it takes, also where a line is only prepared", () =>
    Effect.gen(function* () {
      const prepared = [...read("deploy/kubernetes/settings/settings.yaml").matchAll(/^ {2}# ([A-Z_]+): (\S+)$/gm)]
      expect(prepared.length).toBeGreaterThan(2)
      const given: Record<string, string> = {
        ...imageEnvironment,
        ...one("ConfigMap").data,
        ...Object.fromEntries(prepared.map(([, name = "", value = ""]) => [name, value])),
        DATABASE_URL: "postgres://gateway@db.example/gateway?sslmode=verify-full",
        MASTER_KEY: Buffer.alloc(32).toString("base64")
      }
      const asked = new Set<string>()
      const watched = new Proxy(given, { get: (target, name) => (asked.add(String(name)), target[String(name)]) })
      const read_ = yield* Effect.provideService(settings, Environment, watched)
      expect([read_.host, read_.managementHost]).toEqual(["0.0.0.0", "0.0.0.0"])
      const ofOthers = ["NODE_ENV", "NODE_COMPILE_CACHE"]
      expect(Object.keys(given).filter((name) => !asked.has(name) && !ofOthers.includes(name))).toEqual([])
    })
  )

  it("take settings and accounts that are made: a ConfigMap here, and secrets as the page says", () => {
    const made = [...read("docs/operations/installing.md").matchAll(/create secret generic (\S+)/g)].map(([, name]) => name)
    for (const { envFrom } of containers)
      for (const { configMapRef, secretRef } of envFrom) {
        if (configMapRef !== undefined)
          expect(ofKind("ConfigMap").map(({ metadata }) => metadata.name)).toContain(configMapRef.name)
        if (secretRef !== undefined) expect(made).toContain(secretRef.name)
      }
    // The owner's password is for the migration alone.
    const withOwner = containers.filter(({ envFrom }) =>
      envFrom.some(({ secretRef }) => secretRef?.name === `${GATEWAY}-migration`)
    )
    expect(withOwner.map(({ name }) => name)).toEqual(["migration"])
    const accounts = ofKind("ServiceAccount").map(({ metadata }) => metadata.name)
    for (const { spec } of pods) expect(accounts).toContain(spec.serviceAccountName)
  })

  it("mount each volume that there is, and write only where one is mounted", () => {
    for (const { name, spec } of pods) {
      const mounts = spec.containers.flatMap(({ volumeMounts }) => volumeMounts)
      expect([name, mounts.map((mount) => mount.name).sort()]).toEqual([name, spec.volumes.map((volume) => volume.name).sort()])
      expect(mounts.some(({ mountPath }) => imageEnvironment["DATA_DIR"]?.startsWith(`${mountPath}/`))).toBe(true)
    }
  })

  it("run what is in the image: every daily check once, each at another time", () => {
    for (const { args = [], name } of containers.filter((container) => container.name !== "gateway")) {
      const [program, file = ""] = args
      expect([name, program, inImage.some((copied) => file === copied || file.startsWith(`${copied}/`))]).toEqual([
        name,
        file.endsWith(".sh") ? "sh" : "node",
        true
      ])
      expect(existsSync(join(root, file))).toBe(true)
    }
    const checks = ofKind("CronJob").map(({ spec }) => spec.jobTemplate.spec.template.spec.containers[0].args.at(-1))
    const known = [...read("deploy/daily-checks.sh").matchAll(/^ {4}(\w+)\) /gm)].map(([, check]) => check)
    expect(checks.sort()).toEqual(known.sort())
    const times = ofKind("CronJob").map(({ spec }) => `${spec.schedule} ${spec.timeZone}`)
    expect(new Set(times).size).toBe(times.length)
    for (const time of times) expect(time).toMatch(/^\d+ 2 \* \* \* Etc\/UTC$/)
  })

  it("give a gateway longer to end than it needs", () => {
    const [, drain = ""] = /const DRAIN = "(\d+) seconds"/.exec(read("src/http/Server.ts")) ?? []
    const { lifecycle, terminationGracePeriodSeconds: grace } = {
      ...one("Deployment").spec.template.spec,
      ...one("Deployment").spec.template.spec.containers[0]
    }
    const providerCallSeconds = 15
    expect(grace).toBeGreaterThan(lifecycle.preStop.sleep.seconds + Number(drain) + providerCallSeconds)
    expect(resources.length).toBeGreaterThan(10)
  })

  // kubectl decodes them as their kinds, and leaves out what it does not know.
  itWith(
    "kubectl",
    "version",
    "--client"
  )("have no field that Kubernetes does not know", () => {
    const known = (file: string, ...change: ReadonlyArray<string>) => {
      const path = `deploy/kubernetes/${file}`
      const read = spawnSync("kubectl", ["set", ...change, "--local", "-o", "yaml", "-f", path], { cwd: root, encoding: "utf8" })
      expect(read.status, read.stderr).toBe(0)
      const [given, decoded] = [manifestsIn(path), parseAllDocuments(read.stdout).map((document): unknown => document.toJS())]
      expect(decoded.length).toBe(given.length)
      return given.flatMap((manifest, at) => lost(manifest, decoded[at]).map((field) => `${file}: ${field}`))
    }
    const workloads = ["deployment.yaml", "daily-checks.yaml", "migration/job.yaml"]
    const unknown = [...workloads.flatMap((file) => known(file, "env", "ANY=1")), ...known("service.yaml", "selector", "any=1")]
    expect(unknown).toEqual([])
  })
})

/** Fields of one that the other lacks. */
const lost = (one: unknown, other: unknown, at = ""): ReadonlyArray<string> => {
  if (typeof one !== "object" || one === null) return []
  const fields: Readonly<Record<string, unknown>> = typeof other === "object" && other !== null ? { ...other } : {}
  // Kubernetes leaves out what is selected by another change of this test.
  return Object.entries(one).flatMap(([name, value]) =>
    name in fields ? lost(value, fields[name], `${at}.${name}`) : at.endsWith(".spec.selector") ? [] : [`${at}.${name}`]
  )
}
