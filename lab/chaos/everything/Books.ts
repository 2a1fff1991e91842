import { closeSync, fstatSync, openSync, readSync } from "node:fs"
import { join } from "node:path"

// The providers' own account, as the simulator wrote it down: what it took, what became of it, and what it charged.

export interface Movement {
  readonly provider: string
  /** The merchant's account there. */
  readonly account: string
  readonly id: string
  /** Ours. */
  readonly reference: string | null
  readonly kind: "payout" | "collection" | "exchange"
  readonly status: "pending" | "successful" | "failed"
  readonly returned: boolean
  readonly ending: string
  readonly currency: string
  readonly amount: number
  /** What it costs, and what it was to cost when it was taken. */
  readonly fee: number
  readonly firstFee: number
  /** A payout that comes back brings its fee with it. */
  readonly feeReturns?: boolean
  readonly destinationCurrency: string
  readonly destinationAmount: number
}

export interface Execution {
  readonly provider: string
  readonly direction: Movement["kind"] | "return"
  /** The provider's own reference. */
  readonly id: string
  /** Ours. */
  readonly reference: string
  readonly amount: number
  readonly currency: string
}

/** What it knows of one reference of ours. */
export interface Known {
  readonly movements: ReadonlyArray<Movement>
  readonly executions: ReadonlyArray<Execution>
}

export interface Books {
  /** Reads what was written since. */
  readonly refresh: () => void
  readonly of: (reference: string) => Known
  readonly references: () => ReadonlyArray<string>
}

/** Money in it is decimal text. */
type WrittenMovement = Omit<Movement, "amount" | "fee" | "firstFee" | "destinationAmount"> &
  Readonly<Record<"amount" | "fee" | "destinationAmount", string>>

interface WrittenExecution extends Pick<Execution, "provider" | "direction" | "currency"> {
  readonly reference: string
  readonly client_reference: string | null
  readonly amount_minor: number
}

type Line = ReadonlyArray<{ readonly transaction?: WrittenMovement; readonly execution?: WrittenExecution }>

export const openBooks = (dataDir: string): Books => {
  const path = join(dataDir, "simulator", "account.jsonl")
  const movements = new Map<string, Map<string, Movement>>()
  const executions = new Map<string, Array<Execution>>()
  let at = 0

  const move = (one: WrittenMovement) => {
    const movement = movementOf(one)
    const reference = movement.reference ?? ""
    const own = movements.get(reference) ?? new Map<string, Movement>()
    const name = `${movement.provider}/${movement.id}`
    own.set(name, { ...movement, firstFee: own.get(name)?.firstFee ?? movement.fee })
    movements.set(reference, own)
  }
  const execute = ({ amount_minor, client_reference, currency, direction, provider, reference }: WrittenExecution) => {
    const ours = client_reference ?? ""
    const own = executions.get(ours) ?? []
    own.push({ provider, direction, id: reference, reference: ours, amount: amount_minor, currency })
    executions.set(ours, own)
  }
  const read = (line: string) => {
    const facts: Line = JSON.parse(line)
    for (const { execution, transaction } of facts) {
      if (transaction !== undefined) move(transaction)
      if (execution !== undefined) execute(execution)
    }
  }
  // What a killed simulator leaves of a line is cut off when it starts again: only whole lines count.
  const refresh = () => {
    const file = openSync(path, "r")
    try {
      const more = Buffer.alloc(Math.max(0, fstatSync(file).size - at))
      const count = readSync(file, more, 0, more.length, at)
      const whole = more.subarray(0, count).lastIndexOf(10) + 1
      at += whole
      for (const line of more.toString("utf8", 0, whole).split("\n")) if (line !== "") read(line)
    } finally {
      closeSync(file)
    }
  }
  return {
    refresh,
    of: (reference) => ({
      movements: [...(movements.get(reference)?.values() ?? [])],
      executions: executions.get(reference) ?? []
    }),
    references: () => [...executions.keys()]
  }
}

const movementOf = (one: WrittenMovement): Movement => ({
  ...one,
  amount: Number(one.amount),
  fee: Number(one.fee),
  firstFee: Number(one.fee),
  destinationAmount: Number(one.destinationAmount)
})
