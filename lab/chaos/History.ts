import type { Answer } from "./Client.ts"
import type { Operation } from "./Load.ts"

// What clients saw and when, by the clock of the one process that all of them are in: so that "before" means the same for each of them.

/** From when it was asked until the whole answer was there, in milliseconds. */
interface Interval {
  readonly begun: number
  readonly ended: number
}

/** A record as somebody was shown it. */
export interface Look extends Interval {
  readonly reference: string
  readonly version: number
  readonly status: string
  readonly text: string
}

/** A float position as its tenant read it; members are minor units. */
export interface Position extends Interval {
  readonly appId: string
  readonly members: Readonly<Record<string, number>>
}

/** An answer that ends its key: accepted, or refused for good. */
export interface FinalAnswer extends Interval {
  readonly key: string
  readonly status: number
  readonly text: string
  /** The record's, where the answer has one. */
  readonly reference: string | undefined
  readonly version: number | undefined
}

/** An event as the tenant's endpoint heard it. */
export interface Told {
  readonly id: string
  readonly type: string
  readonly reference: string
  readonly version: number
  readonly status: string
  readonly at: number
}

export interface History {
  readonly looks: ReadonlyArray<Look>
  readonly positions: ReadonlyArray<Position>
  readonly answers: ReadonlyArray<FinalAnswer>
  readonly told: ReadonlyArray<Told>
  /** Keys of which each answer was heard and none was ambiguous: the first final one is the one that is kept. */
  readonly plainKeys: ReadonlySet<string>
  /** What each tenant had at the beginning. */
  readonly credit: number
  /** By tenant: what the provider has returned by the end. */
  readonly returned: ReadonlyMap<string, number>
}

/** Collects one. */
export const record = () => {
  const looks: Array<Look> = []
  const positions: Array<Position> = []
  const answers: Array<FinalAnswer> = []
  const told: Array<Told> = []
  const plain = new Map<string, boolean>()
  const ended = new Set<string>()
  const look = (interval: Interval, answer: Answer | undefined) => {
    const { reference, status, version } = answer?.body.data ?? {}
    if (answer?.status !== 200 || typeof reference !== "string") return
    looks.push({
      ...interval,
      reference,
      version: Number(version),
      status: String(status),
      text: JSON.stringify(answer.body.data)
    })
  }
  return {
    look,
    position: (interval: Interval, appId: string, answer: Answer | undefined) => {
      if (answer?.status !== 200) return
      const [members] = JSON.parse(answer.text).data
      if (members !== undefined) positions.push({ ...interval, appId, members })
    },
    /** The answer to a request with a key; undefined where none came. */
    answer: (interval: Interval, { key }: Operation, answer: Answer | undefined) => {
      const error = answer?.body.error
      if (!ended.has(key)) plain.set(key, plain.get(key) !== false && answer !== undefined && error?.ambiguous !== true)
      if (answer === undefined || (answer.status !== 201 && error?.terminal !== true)) return
      ended.add(key)
      const { reference, version } = answer.body.data ?? {}
      answers.push({
        ...interval,
        key,
        status: answer.status,
        text: answer.text,
        reference: typeof reference === "string" ? reference : undefined,
        version: typeof version === "number" ? version : undefined
      })
    },
    told: (one: Told) => void told.push(one),
    history: (credit: number, returned: ReadonlyMap<string, number>): History => ({
      credit,
      returned,
      looks,
      positions,
      answers,
      told,
      plainKeys: new Set([...plain].flatMap(([key, isPlain]) => (isPlain ? key : [])))
    })
  }
}

export type Recorder = ReturnType<typeof record>
