/** What a figure did over time: the straight line that fits its samples best. */
export interface Trend {
  /** On that line, at the first sample and at the last. */
  readonly from: number
  readonly to: number
  readonly per_hour: number
  /** Half the width of the slope's 95 % interval, were samples independent of each other. */
  readonly give_or_take: number
}

export interface Sample {
  readonly hours: number
  readonly value: number
}

const STANDARD_ERRORS = 1.96

/** By least squares; of fewer than three samples there is none. */
export const trendOf = (samples: ReadonlyArray<Sample>): Trend | undefined => {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined || samples.length < 3) return undefined
  const mean = (of: (sample: Sample) => number) => samples.reduce((sum, one) => sum + of(one), 0) / samples.length
  const [hours, value] = [mean((one) => one.hours), mean((one) => one.value)]
  const spread = mean((one) => (one.hours - hours) ** 2)
  const slope = spread === 0 ? 0 : mean((one) => (one.hours - hours) * (one.value - value)) / spread
  const at = (time: number) => value + slope * (time - hours)
  const left = mean((one) => (one.value - at(one.hours)) ** 2)
  const error = spread === 0 ? 0 : Math.sqrt(left / spread / (samples.length - 2))
  return { from: at(first.hours), to: at(last.hours), per_hour: slope, give_or_take: STANDARD_ERRORS * error }
}
