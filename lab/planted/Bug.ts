/** One exact text of one file, and what stands there instead. */
export interface Edit {
  readonly file: string
  readonly text: string
  readonly instead: string
}

/** A mistake that somebody could make, and the run that has to notice it. */
export interface Bug {
  readonly name: string
  /** The promise that it breaks. */
  readonly breaks: string
  /** The test file that has to notice it; the simulation where none is named. */
  readonly test?: string
  readonly edits: readonly [Edit, ...ReadonlyArray<Edit>]
}
