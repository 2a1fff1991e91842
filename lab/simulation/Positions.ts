import { executedOf, feeCharged, isReversed } from "./Movement.ts"
import type { Position, Seen } from "./Seen.ts"

/** What every position has to be, folded from what the providers did, against what it is. */
export const wrongPositions = (seen: Seen): ReadonlyArray<string> => {
  const wanted = expected(seen)
  return [...new Set([...wanted.keys(), ...seen.positions.keys()])].flatMap((name) => {
    const own = seen.positions.get(name) ?? nothing
    return Object.entries(wanted.get(name) ?? nothing).flatMap(([column, value]) => {
      const found = Object.entries(own).find(([other]) => other === column)?.[1]
      return found === value ? [] : [`${name}: ${column} is ${found}, not ${value}`]
    })
  })
}

const nothing: Position = { available: 0n, reserved: 0n, collected: 0n, paidOut: 0n, fees: 0n }

const expected = ({ credits, movements, told }: Seen): ReadonlyMap<string, Position> => {
  const positions = new Map([...credits].map(([name, available]) => [name, { ...nothing, available }]))
  const add = (name: string, change: Partial<Position>) => {
    const { available, collected, fees, paidOut, reserved } = positions.get(name) ?? nothing
    positions.set(name, {
      available: available + (change.available ?? 0n),
      reserved,
      collected: collected + (change.collected ?? 0n),
      paidOut: paidOut + (change.paidOut ?? 0n),
      fees: fees + (change.fees ?? 0n)
    })
  }
  for (const { appId, mode, reference } of told) {
    const lasting = executedOf(movements, reference).filter((one) => !isReversed(one))
    for (const { amount, brings, currency, fee, kind, returnsAt } of lasting) {
      const name = `${appId}/${mode}/${currency}`
      if (kind === "collection") add(name, { available: amount - fee, collected: amount, fees: fee })
      if (kind === "exchange") {
        add(name, { available: -amount })
        if (brings !== null) add(`${appId}/${mode}/${brings.currency}`, { available: brings.amount })
      }
      if (kind !== "payout") continue
      // The tenant is debited the smaller of what was held for the fee and what it was.
      const debited = feeCharged(fee)
      add(name, { available: -amount - debited + (returnsAt === null ? 0n : amount), paidOut: amount, fees: debited })
    }
  }
  return positions
}
