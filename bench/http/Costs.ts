interface Node {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: ReadonlyArray<number>
}

/** What `--cpu-prof` writes, as far as it is read here. */
export interface Profile {
  readonly nodes: ReadonlyArray<Node>
  readonly samples: ReadonlyArray<number>
  readonly timeDeltas: ReadonlyArray<number>
  /** Microseconds of the system's monotonic clock, as `process.hrtime` reads it. */
  readonly startTime: number
}

/** Microseconds of the same clock. */
interface Stretch {
  readonly from: number
  readonly to: number
}

const LINES = 40
const DECISIVE = 0.002
const OWNER_WIDTH = 9

/** What a frame is there for, by its file; the first that fits counts. */
const purposes: ReadonlyArray<readonly [string, RegExp]> = [
  ["garbage collection", /garbage collector/],
  ["log lines", /Logger\.js|observability\/Logs|consoleCall|Console\.js/],
  ["masking of what is kept of a provider", /domain\/Masking/],
  ["spans", /[tT]racer\.js|observability\/(Telemetry|Attributes)|TraceLinks|StepTracing/],
  ["metrics", /Metric\.js|RequestMetrics|observability\/Metrics/],
  ["schemas: decode and encode", /Schema\w*\.js|internal\/schema/],
  ["the database's driver", /sql-pg|effect\/dist\/sql/],
  ["calls to the provider", /undici|providers\//],
  ["JSON", /Json\.ts|\(JSON/],
  ["signatures, hashes, sealing, randomness", /internal\/crypto|Vault|Sealing|Signature|StringToSign|Redacted\.js/],
  ["phone numbers", /libphonenumber/],
  ["HTTP server and router", /node:_http|effect\/dist\/http|src\/http|platform-node/],
  ["services and domain", /src\/(services|domain|persistence)/],
  ["sockets and streams", /node:(net|internal\/stream|events)|write(v|Buffer|Utf8|Latin1)|readStart/],
  ["Effect's own: fibers, contexts, caches", /effect\/dist/]
]

/** Whose code a frame is, by itself and not by what called it; the first that fits counts. */
const owners: ReadonlyArray<readonly [string, RegExp]> = [
  ["collector", /garbage collector/],
  ["driver", /sql-pg|effect\/dist\/sql/],
  ["crypto", /internal\/crypto|[hH]mac|[dD]igest|[cC]ipher|randomFill/],
  ["ours", /  src\//],
  ["effect", /effect\/dist|platform-node/],
  ["sockets", /node:(net|_http|internal\/stream|events)|undici|write(v|Buffer|Utf8|Latin1)|readStart|stream_base/]
]

const ownerOf = (node: Node): string => owners.find(([, pattern]) => pattern.test(nameOf(node)))?.[0] ?? "node"

/** Where one step of a fiber begins: what stands above it only woke the fiber. */
const isFiberStep = (node: Node): boolean =>
  node.callFrame.functionName === "runLoop" && node.callFrame.url.endsWith("internal/effect.js")

/** Self time by purpose, module and function, and the whole time of our own functions, as shares of the time in which the process did anything. */
export const costsOf = (profile: Profile, stretch: Stretch): string => {
  const { nodes } = profile
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ children = [], id }) => children.map((child) => [child, id] as const)))
  const stackOf = (id: number): ReadonlyArray<Node> => {
    const stack: Array<Node> = []
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const node = byId.get(at)
      if (node !== undefined) stack.push(node)
    }
    return stack
  }
  const [byPurpose, byOwner, byModule, byFunction, whole] = [tally(), tally(), tally(), tally(), tally()]
  let busy = 0
  for (const [id, time] of timesOf(profile, stretch)) {
    const stack = stackOf(id)
    const [node] = stack
    if (node === undefined || node.callFrame.functionName === "(idle)") continue
    busy += time
    byPurpose.add(purposeOf(stack), time)
    byModule.add(short(node.callFrame.url) || node.callFrame.functionName, time)
    byOwner.add(ownerOf(node), time)
    byFunction.add(`${ownerOf(node).padEnd(OWNER_WIDTH)}  ${nameOf(node)}`, time)
    for (const name of new Set(stack.filter(isOurs).map(nameOf))) whole.add(name, time)
  }
  return [
    byPurpose.table("by purpose", busy),
    byOwner.table("self time by whose code it is", busy),
    byModule.table("self time by module", busy),
    byFunction.table("self time by function", busy),
    whole.table("whole time of our own functions, up to where they wait", busy)
  ].join("\n\n")
}

const timesOf = ({ samples, startTime, timeDeltas }: Profile, { from, to }: Stretch): ReadonlyMap<number, number> => {
  const times = new Map<number, number>()
  let now = startTime
  samples.forEach((id, at) => {
    const passed = timeDeltas[at] ?? 0
    now += passed
    if (now >= from && now <= to) times.set(id, (times.get(id) ?? 0) + passed)
  })
  return times
}

const purposeOf = (stack: ReadonlyArray<Node>): string => {
  const step = stack.findIndex(isFiberStep)
  const own = (step === -1 ? stack : stack.slice(0, step + 1)).map(nameOf)
  // The last purpose is everybody's ground: a frame of it says nothing as long as another one stands above.
  for (const rows of [purposes.slice(0, -1), purposes]) {
    for (const frame of own) {
      const found = rows.find(([, pattern]) => pattern.test(frame))
      if (found !== undefined) return found[0]
    }
  }
  return "else"
}

const tally = () => {
  const times = new Map<string, number>()
  return {
    add: (name: string, time: number): void => void times.set(name, (times.get(name) ?? 0) + time),
    table: (title: string, busy: number): string => {
      const rows = [...times].filter(([, time]) => time / busy >= DECISIVE).sort(([, a], [, b]) => b - a)
      return [
        title,
        ...rows.slice(0, LINES).map(([name, time]) => `${((100 * time) / busy).toFixed(1).padStart(6)} %  ${name}`)
      ].join("\n")
    }
  }
}

const isOurs = ({ callFrame: { url } }: Node): boolean => short(url).startsWith("src/")

const nameOf = ({ callFrame: { functionName, lineNumber, url } }: Node): string =>
  `${functionName === "" ? "(anonymous)" : functionName}  ${short(url)}${url === "" ? "" : `:${lineNumber + 1}`}`

const short = (url: string): string => url.replace(/^.*\/node_modules\//, "").replace(/^file:.*\/(src|bench)\//, "$1/")
