import type { Recorder } from "./History.ts"
import { type Operation, perform } from "./Load.ts"
import type { Address } from "./Stage.ts"

interface Loading {
  readonly plan: () => Operation
  readonly any: () => Address
  readonly clients: number
  /** Hears of each 201. */
  readonly created: () => void
  readonly recorder: Recorder
  /** Others that look on until it is over. */
  readonly watching: (operations: ReadonlyArray<Operation>, isOver: () => boolean) => Promise<void>
  readonly disturb: (arrive: () => void) => Promise<unknown>
}

/** Signed operations from every client until the disturbance is over. */
export const load = async ({ any, clients, created, disturb, plan, recorder, watching }: Loading) => {
  let over = false
  const isOver = () => over
  const operations: Array<Operation> = []
  const one = () => {
    const operation = plan()
    operations.push(operation)
    return perform(operation, any, isOver, (begun, answer) => {
      recorder.answer({ begun, ended: performance.now() }, operation, answer)
      if (answer?.status === 201) created()
    })
  }
  const client = async () => {
    while (!isOver()) await one()
  }
  const arrived: Array<Promise<void>> = []
  const ended = disturb(() => arrived.push(one())).finally(() => {
    over = true
  })
  await Promise.all([...Array.from({ length: clients }, client), watching(operations, isOver), ended])
  await Promise.all(arrived)
  return operations
}

/** Lets everybody who waits for it know of the next 201. */
export const bell = () => {
  let waiting: Array<() => void> = []
  return {
    ring: () => {
      const all = waiting
      waiting = []
      for (const one of all) one()
    },
    next: () => new Promise<void>((heard) => waiting.push(heard))
  }
}
