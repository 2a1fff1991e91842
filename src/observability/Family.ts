export type Labels = Readonly<Record<string, string>>

/** One metric with its samples, as a page or a collector reads it. */
export interface Family {
  readonly name: string
  /** A gauge, unless it only ever grows. */
  readonly type?: "counter" | "gauge"
  readonly help: string
  readonly samples: ReadonlyArray<readonly [labels: Labels, value: number | bigint]>
}
