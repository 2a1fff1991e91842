/** The metrics of one process, in the text format of Prometheus. */
export interface MetricsPage {
  /** What tells its samples from those of the other processes; null where they say it themselves. */
  readonly worker: string | null
  readonly text: string
}

interface Family {
  readonly about: Array<string>
  readonly samples: Array<string>
}

const ABOUT = /^# (?:HELP|TYPE) (\S+)/
const SAMPLE = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/

/** One page of several processes: each family once, each sample with the label `worker`. */
export const mergedMetrics = (pages: ReadonlyArray<MetricsPage>): string => {
  const families = new Map<string, Family>()
  for (const { text, worker } of pages) {
    // A sample belongs to the family that stands before it, whose name it may only begin with: a histogram has three kinds.
    let family: Family = { about: [], samples: [] }
    let isNew = false
    for (const line of text.split("\n")) {
      const name = ABOUT.exec(line)?.[1]
      if (name !== undefined) {
        const known = families.get(name)
        isNew = known === undefined || (isNew && known === family)
        family = known ?? { about: [], samples: [] }
        families.set(name, family)
        if (isNew) family.about.push(line)
      } else if (line !== "") family.samples.push(worker === null ? line : labelled(line, worker))
    }
  }
  return [...families.values()].flatMap(({ about, samples }) => [...about, ...samples].map((line) => `${line}\n`)).join("")
}

const labelled = (line: string, worker: string): string =>
  line.replace(SAMPLE, (_line, name: string, labels: string | undefined, value: string) => {
    const others = labels === undefined || labels === "" ? "" : `${labels},`
    return `${name}{${others}worker="${worker}"} ${value}`
  })
