import { globSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { type Document, parse, parseAllDocuments } from "yaml"

export const root = resolve(import.meta.dirname, "..", "..")
export const read = (file: string): string => readFileSync(join(root, file), "utf8")

export type Labels = Readonly<Record<string, string>>

export interface Container {
  readonly name: string
  readonly args?: ReadonlyArray<string>
  readonly ports?: ReadonlyArray<{ readonly name: string; readonly containerPort: number }>
  readonly envFrom: ReadonlyArray<{
    readonly configMapRef?: { readonly name: string }
    readonly secretRef?: { readonly name: string }
  }>
  readonly volumeMounts: ReadonlyArray<{ readonly name: string; readonly mountPath: string }>
  readonly resources: { readonly limits: { readonly memory: string } }
  readonly [probe: string]: unknown
}

export interface Pod {
  readonly serviceAccountName: string
  readonly terminationGracePeriodSeconds?: number
  readonly containers: ReadonlyArray<Container>
  readonly volumes: ReadonlyArray<{ readonly name: string }>
}

interface Template {
  readonly metadata: { readonly labels: Labels }
  readonly spec: Pod
}

export interface Resource {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Labels }
  /** As its kind has it. */
  readonly spec: ReturnType<Document["toJS"]>
  readonly data?: Readonly<Record<string, string>>
}

interface Kustomization {
  readonly labels?: ReadonlyArray<{ readonly pairs: Labels }>
  readonly resources: ReadonlyArray<string>
}

const folder = "deploy/kubernetes"
export const kustomization: Kustomization = parse(read(`${folder}/kustomization.yaml`))

/** What one file holds, as it is written. */
export const manifestsIn = (file: string): ReadonlyArray<Resource> =>
  parseAllDocuments(read(file)).map((document): Resource => document.toJS())

/** Every resource, with the labels that the kustomization gives to each. */
export const resources: ReadonlyArray<Resource> = globSync(`${folder}/**/*.yaml`, { cwd: root })
  .filter((file) => !file.endsWith("kustomization.yaml"))
  .flatMap(manifestsIn)
  .map((resource) => {
    const common = Object.assign({}, ...(kustomization.labels ?? []).map(({ pairs }) => pairs))
    return { ...resource, metadata: { ...resource.metadata, labels: { ...common, ...resource.metadata.labels } } }
  })

export const ofKind = (kind: string): ReadonlyArray<Resource> => resources.filter((resource) => resource.kind === kind)

/** The pods that are made, by the name of what makes them. */
export const pods: ReadonlyArray<{ readonly name: string; readonly labels: Labels; readonly spec: Pod }> = resources.flatMap(
  ({ kind, metadata: { name }, spec }) => {
    const template: Template | undefined = kind === "CronJob" ? spec.jobTemplate.spec.template : spec?.template
    return template === undefined ? [] : [{ name, labels: template.metadata.labels, spec: template.spec }]
  }
)

export const containers: ReadonlyArray<Container> = pods.flatMap(({ spec }) => spec.containers)

/** As compose reads it where deploy/.env says nothing. */
const withDefaults = (text: string): string => text.replace(/\$\{\w+:-([^}]*)\}/g, "$1")

export interface ComposeService {
  readonly image: string
  readonly command?: ReadonlyArray<string>
  readonly environment?: Readonly<Record<string, string>>
  readonly secrets?: ReadonlyArray<string>
  readonly networks: ReadonlyArray<string>
  readonly volumes?: ReadonlyArray<string>
  readonly ports?: ReadonlyArray<string>
  readonly expose?: ReadonlyArray<string>
  readonly depends_on?: Readonly<Record<string, unknown>>
  readonly healthcheck?: {
    readonly test: ReadonlyArray<string>
    readonly interval: string
    readonly timeout: string
    readonly start_period?: string
  }
  readonly mem_limit: string
  readonly stop_grace_period?: string
}

export const compose: {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly networks: Readonly<
    Record<string, { readonly ipam?: { readonly config: ReadonlyArray<{ readonly subnet: string }> } } | null>
  >
  readonly volumes: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, unknown>>
} = parse(withDefaults(read("deploy/compose.yml")), { merge: true })

/** The instructions of the image's last stage, each on one line. */
const containerfile =
  read("deploy/Containerfile")
    .split(/^FROM /m)
    .at(-1) ?? ""
export const instructions = (name: string): ReadonlyArray<string> =>
  [...containerfile.matchAll(new RegExp(`^${name} (.*)$`, "gm"))].map(([, rest = ""]) => rest)
/** What the program finds in the environment of a container. */
export const imageEnvironment: Readonly<Record<string, string>> = Object.fromEntries(
  instructions("ENV").flatMap((line) => line.split(" ").map((pair) => pair.split("=", 2)))
)
/** Files and folders of the program that are in the image. */
export const inImage: ReadonlyArray<string> = instructions("COPY")
  .filter((line) => !line.startsWith("--from"))
  .flatMap((line) => line.split(" ").slice(0, -1))

const unitNames = globSync("deploy/systemd/*.service", { cwd: root })
/** The directives of each unit, in their order. */
export const units: ReadonlyArray<{ readonly name: string; readonly directives: ReadonlyArray<readonly [string, string]> }> =
  unitNames.map((file) => ({
    name: file.split("/").at(-1) ?? "",
    directives: read(file)
      .split("\n")
      .flatMap((line) => {
        const [, name, value] = /^([A-Z]\w*)=(.*)$/.exec(line) ?? []
        return name === undefined || value === undefined ? [] : [[name, value] as const]
      })
  }))
