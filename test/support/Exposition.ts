/** One family of a page in Prometheus's text format 0.0.4. */
export interface Family {
  readonly type: string
  readonly help: string
  readonly samples: ReadonlyArray<Sample>
}

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export type Exposition = ReadonlyMap<string, Family>

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*"
const COMMENT = new RegExp(`^# (HELP|TYPE) (${NAME}) (.*)$`)
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (\\S+)$`)
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/
const VALUE = /^(NaN|[+-]Inf|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)$/
const types = ["counter", "gauge", "histogram", "summary", "untyped"]

/**
 * Reads a page by the format's own rules and throws at whatever breaks one: each family once and together, its type before its samples,
 * every line a sample or a comment, no label twice, no sample twice, a histogram's buckets rising to `+Inf`, which is its count.
 */
export const readExposition = (page: string): Exposition => {
  if (!page.endsWith("\n")) throw new Error("the last line does not end")
  const families = new Map<string, { type: string; help: string; samples: Array<Sample> }>()
  let current = ""
  const seen = new Set<string>()
  for (const line of page.slice(0, -1).split("\n")) {
    const comment = COMMENT.exec(line)
    if (comment !== null) {
      const [, kind = "", name = "", rest = ""] = comment
      if (name !== current && families.has(name)) throw new Error(`${name} stands in two places`)
      current = name
      const family = families.get(name) ?? { type: "", help: "", samples: [] }
      families.set(name, family)
      if (kind === "HELP") family.help = rest
      else if (family.type !== "" || family.samples.length > 0) throw new Error(`${name} is typed twice, or late`)
      else family.type = rest
      continue
    }
    const sample = sampleOf(line)
    const family = families.get(current)
    if (family === undefined || !belongs(sample.name, current, family.type)) throw new Error(`stray sample: ${line}`)
    const identity = `${sample.name}${JSON.stringify(Object.entries(sample.labels).sort())}`
    if (seen.has(identity)) throw new Error(`twice: ${line}`)
    seen.add(identity)
    family.samples.push(sample)
  }
  for (const [name, family] of families) check(name, family)
  return families
}

/** The value of the one sample with exactly these labels; undefined where there is none. */
export const sampled = (page: Exposition, name: string, labels: Readonly<Record<string, string>> = {}): number | undefined =>
  samplesOf(page, name).find(
    (sample) =>
      Object.keys(sample.labels).length === Object.keys(labels).length &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
  )?.value

export const samplesOf = (page: Exposition, name: string): ReadonlyArray<Sample> =>
  [...page.values()].flatMap(({ samples }) => samples).filter((sample) => sample.name === name)

const sampleOf = (line: string): Sample => {
  const [, name = "", inside = "", value = ""] = SAMPLE.exec(line) ?? []
  if (name === "" || !VALUE.test(value)) throw new Error(`no sample: ${line}`)
  const labels: Record<string, string> = {}
  let rest = inside
  while (rest !== "") {
    const [whole, label = "", text = ""] = LABEL.exec(rest) ?? []
    if (whole === undefined || label in labels) throw new Error(`bad labels: ${line}`)
    labels[label] = text
    rest = rest.slice(whole.length)
  }
  return { name, labels, value: Number(value.replace("Inf", "Infinity")) }
}

const belongs = (sample: string, family: string, type: string): boolean =>
  sample === family || (type === "histogram" && ["_bucket", "_sum", "_count"].some((suffix) => sample === `${family}${suffix}`))

const check = (name: string, { help, samples, type }: Family): void => {
  if (!types.includes(type) || help === "") throw new Error(`${name} has no type or no help`)
  if (type === "counter" && !name.endsWith("_total")) throw new Error(`the counter ${name} does not end in _total`)
  if (type !== "histogram") return
  for (const count of samples.filter((sample) => sample.name === `${name}_count`)) {
    const buckets = samples.filter(
      (sample) =>
        sample.name === `${name}_bucket` && Object.entries(count.labels).every(([label, value]) => sample.labels[label] === value)
    )
    const bounds = buckets.map(({ labels }) => Number((labels["le"] ?? "").replace("Inf", "Infinity")))
    const rising = bounds.every((bound, at) => at === 0 || bound > (bounds[at - 1] ?? bound))
    const values = buckets.map(({ value }) => value)
    const growing = values.every((value, at) => at === 0 || value >= (values[at - 1] ?? 0))
    if (!rising || !growing || bounds.at(-1) !== Number.POSITIVE_INFINITY || values.at(-1) !== count.value)
      throw new Error(`the buckets of ${name} are wrong`)
  }
}
