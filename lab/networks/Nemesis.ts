import { setTimeout as pause } from "node:timers/promises"
import type { Random } from "../../test/support/Random.ts"
import { apart, between, jumped, type Kind, type Mended } from "./Faults.ts"
import type { Host } from "./Hosts.ts"

// What goes wrong with the network while tenants pay, drawn from a seed. Several of these are under way at once.

/** How long one lasts, in milliseconds. */
const lasts: Readonly<Record<Kind | "alone" | "clock", readonly [least: number, most: number]>> = {
  cut: [300, 8_000],
  "one-way": [300, 8_000],
  lossy: [2_000, 10_000],
  slow: [2_000, 8_000],
  reset: [100, 1_000],
  alone: [500, 6_000],
  clock: [2_000, 10_000]
}
const drawn: ReadonlyArray<keyof typeof lasts> = [
  "cut",
  "cut",
  "cut",
  "one-way",
  "one-way",
  "lossy",
  "slow",
  "reset",
  "alone",
  "clock"
]
const BETWEEN_MS = 1_500
const CLOCK_OFF_SECONDS = 4

export interface Nemesis {
  /** Pairs of hosts that speak with each other. */
  readonly pairs: readonly [Pair, ...ReadonlyArray<Pair>]
  /** Of the gateway whose time of day jumps. */
  readonly clock: string
  readonly random: Random
  readonly isOver: () => boolean
  /** Counts by kind. */
  readonly begun: (kind: string) => void
}

export type Pair = readonly [one: Host, other: Host]

/** One trouble after the other until it is over; whatever began has ended by then. */
export const trouble = async (nemesis: Nemesis): Promise<void> => {
  const { begun, isOver, random } = nemesis
  while (!isOver()) {
    await pause(random.below(BETWEEN_MS))
    const kind = random.pick(drawn as readonly [keyof typeof lasts, ...ReadonlyArray<keyof typeof lasts>])
    const mend = await begin(kind, nemesis)
    begun(kind)
    const [least, most] = lasts[kind]
    await pause(least + random.below(most - least))
    await mend()
  }
}

const begin = (kind: keyof typeof lasts, { clock, pairs, random }: Nemesis): Promise<Mended> => {
  const [one, other] = random.chance(0.5) ? random.pick(pairs) : reversed(random.pick(pairs))
  if (kind === "clock") return jumped(clock, random.chance(0.5) ? CLOCK_OFF_SECONDS : -CLOCK_OFF_SECONDS)
  if (kind === "alone") return apart([one], partners(one, pairs))
  return between[kind](one, other)
}

const reversed = ([one, other]: Pair): Pair => [other, one]

const partners = (host: Host, pairs: ReadonlyArray<Pair>): ReadonlyArray<Host> =>
  pairs.flatMap(([one, other]) => (one === host ? [other] : other === host ? [one] : []))
