/** What a figure did: the straight line that fits its samples best. */
export interface FittedLine {
  /** On that line, at the first sample and at the last. */
  readonly from: number
  readonly to: number
  readonly slope: number
  /** Half the width of the slope's 95 % interval, were samples independent of each other. */
  readonly give_or_take: number
}

/** A figure, and what it is held against: hours that have passed, or thousands of operations. */
export interface Sample {
  readonly at: number
  readonly value: number
}

const STANDARD_ERRORS = 1.96

/** By least squares; of fewer than three samples there is none. */
export const lineThrough = (samples: ReadonlyArray<Sample>): FittedLine | undefined => {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined || samples.length < 3) return undefined
  const mean = (of: (sample: Sample) => number) => samples.reduce((sum, one) => sum + of(one), 0) / samples.length
  const [at, value] = [mean((one) => one.at), mean((one) => one.value)]
  const spread = mean((one) => (one.at - at) ** 2)
  const slope = spread === 0 ? 0 : mean((one) => (one.at - at) * (one.value - value)) / spread
  const on = (where: number) => value + slope * (where - at)
  const left = mean((one) => (one.value - on(one.at)) ** 2)
  const error = spread === 0 ? 0 : Math.sqrt(left / spread / (samples.length - 2))
  return { from: on(first.at), to: on(last.at), slope, give_or_take: STANDARD_ERRORS * error }
}
