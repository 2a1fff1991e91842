import { parseArgs } from "node:util"
import { byHash, isolated, loads, type Placement, rebalanced, skewOf } from "./Placement.ts"
import { grown, hashOf, type Shares, zipfShares } from "./Tenants.ts"

// How evenly a cluster that is divided by tenant is used when its tenants are not alike: by hash alone, after rebalancing, and with the largest tenants
// isolated; what becomes of it when one tenant grows; and how much stands still with one worker. Nothing is measured: it is arithmetic with seeds.

const usage =
  "npm run shards -- [--tenants N] [--shards N] [--workers N,N,...] [--exponents X,X,...] [--seeds N] [--threshold X] [--growth X] [--json]"

const whole = (name: string, text: string, most: number): number => {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 1 && number <= most) return number
  throw new Error(`--${name}: not a whole number from 1 to ${most}`)
}

const decimal = (name: string, text: string, most: number): number => {
  const number = Number(text)
  if (text.trim() !== "" && number >= 0 && number <= most) return number
  throw new Error(`--${name}: not a number from 0 to ${most}`)
}

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        tenants: { type: "string", default: "10000" },
        shards: { type: "string", default: "128" },
        workers: { type: "string", default: "2,8,32" },
        exponents: { type: "string", default: "0,0.8,1,1.2" },
        seeds: { type: "string", default: "50" },
        threshold: { type: "string", default: "0.02" },
        growth: { type: "string", default: "50" },
        json: { type: "boolean", default: false }
      }
    })
    return {
      tenants: whole("tenants", values.tenants, 1_000_000),
      shards: whole("shards", values.shards, 10_000),
      workers: values.workers.split(",").map((text) => whole("workers", text, 1_000)),
      exponents: values.exponents.split(",").map((text) => decimal("exponents", text, 3)),
      seeds: whole("seeds", values.seeds, 10_000),
      threshold: decimal("threshold", values.threshold, 1),
      growth: decimal("growth", values.growth, 10_000),
      json: values.json
    }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

/** A tenant that pays more than this part of one worker's even share gets a shard of its own. */
const ISOLATED_ABOVE = 0.1

/** The tenants among which one grows: those that are neither among the largest hundredth nor beyond the largest tenth. */
const growing = (seed: number): number => Math.floor(options.tenants * (0.01 + 0.09 * (hashOf(`growing ${seed}`) / 2 ** 32)))

const settled = (placement: Placement, shares: Shares) =>
  rebalanced(isolated(placement, shares, ISOLATED_ABOVE / placement.workers), shares, options.threshold)

const story = (shares: Shares, workers: number, seed: number) => {
  const hashed = byHash(options.tenants, options.shards, workers, seed)
  const moved = rebalanced(hashed, shares, options.threshold)
  const alone = settled(hashed, shares)
  const later = grown(shares, growing(seed), options.growth)
  const repaired = settled(alone.placement, later)
  return {
    largest: Math.max(...shares) * workers,
    hashed: skewOf(hashed, shares),
    rebalanced: skewOf(moved.placement, shares),
    isolated: skewOf(alone.placement, shares),
    own: alone.placement.workerOf.length - options.shards,
    moves: alone.moves,
    after_growth: skewOf(alone.placement, later),
    repaired: skewOf(repaired.placement, later),
    repairing_moves: repaired.moves,
    stopped: 100 * Math.max(...loads(alone.placement, shares))
  }
}

type Story = ReturnType<typeof story>

const rows = options.exponents.flatMap((exponent) =>
  options.workers.map((workers) => {
    const shares = zipfShares(options.tenants, exponent)
    const stories = Array.from({ length: options.seeds }, (_, seed) => story(shares, workers, seed + 1))
    return { exponent, workers, stories }
  })
)

/** The median of the seeds, and the worst in brackets. */
const cell = (stories: ReadonlyArray<Story>, name: keyof Story, digits = 2): string => {
  const values = stories.map((one) => one[name]).toSorted((a, b) => a - b)
  const [median = 0, worst = 0] = [values[values.length >> 1], values.at(-1)]
  return median.toFixed(digits) === worst.toFixed(digits)
    ? median.toFixed(digits)
    : `${median.toFixed(digits)} (${worst.toFixed(digits)})`
}

const table = () => {
  const heads = ["Zipf", "Workers", "Largest tenant", "By hash", "Rebalanced", "Isolated, too", "Shards of one tenant", "Moves"]
  const heads2 = [`One grows × ${options.growth}`, "Repaired", "Moves", "Stopped by one worker, %"]
  const lines = rows.map(({ exponent, stories, workers }) => [
    exponent,
    workers,
    ...(["largest", "hashed", "rebalanced", "isolated"] as const).map((name) => cell(stories, name)),
    ...(["own", "moves"] as const).map((name) => cell(stories, name, 0)),
    ...(["after_growth", "repaired"] as const).map((name) => cell(stories, name)),
    ...(["repairing_moves", "stopped"] as const).map((name) => cell(stories, name, 0))
  ])
  const columns = [...heads, ...heads2]
  return [columns, columns.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n")
}

console.log(options.json ? JSON.stringify({ ...options, rows }, null, 1) : table())
