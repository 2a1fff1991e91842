import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  begun,
  type CallEnd,
  type Circuit,
  closedCircuit,
  ended,
  LONGEST_OPEN_MS,
  letsThrough
} from "../../src/domain/CircuitBreaker.ts"
import { NOON } from "../support/Given.ts"

const policy = { failures: 3, openMs: 1_000 }
const open: Circuit = { _tag: "Open", until: NOON + 1_000, forMs: 1_000 }
const failing = (circuit: Circuit, times: number): Circuit =>
  Array.from({ length: times }).reduce<Circuit>((before) => ended(before, false, "failed", policy, NOON), circuit)

describe("a circuit", () => {
  it("opens at the last of so many failures in a row", () => {
    expect(letsThrough(failing(closedCircuit, 2), NOON)).toBe(true)
    expect(failing(closedCircuit, 3)).toStrictEqual(open)
    expect(letsThrough(open, NOON)).toBe(false)
  })

  it("counts from the beginning after any success", () => {
    const recovered = ended(failing(closedCircuit, 2), false, "answered", policy, NOON)
    expect(failing(recovered, 2)._tag).toBe("Closed")
  })

  it("lets one call through when its time is up, and no other until that one has ended", () => {
    expect(letsThrough(open, NOON + 999)).toBe(false)
    expect(letsThrough(open, NOON + 1_000)).toBe(true)
    expect(letsThrough(begun(open), NOON + 60_000)).toBe(false)
  })

  it("closes when its trial is answered", () => {
    expect(ended(begun(open), true, "answered", policy, NOON)).toStrictEqual(closedCircuit)
  })

  it("stays open twice as long after each trial that fails, up to a bound", () => {
    let circuit: Circuit = open
    const lengths: Array<number> = []
    for (let trial = 0; trial < 7; trial++) {
      circuit = ended(begun(circuit), true, "failed", policy, NOON)
      if (circuit._tag === "Open") lengths.push(circuit.forMs)
    }
    expect(lengths).toStrictEqual([2_000, 4_000, ...Array<number>(5).fill(LONGEST_OPEN_MS)])
  })

  it("is never open for less than it is set to, however long that is", () => {
    const long = { failures: 1, openMs: 60_000 }
    const first = ended(closedCircuit, false, "failed", long, NOON)
    expect(ended(begun(first), true, "failed", long, NOON)).toStrictEqual(first)
  })

  it("may be tried at once by the next when whoever tried it went away", () => {
    expect(letsThrough(ended(begun(open), true, "abandoned", policy, NOON + 2_000), NOON + 2_000)).toBe(true)
  })

  it.each<CallEnd>(["answered", "failed", "abandoned"])(
    "does not listen to a call of before that ends %s while it is open",
    (end) => {
      expect(ended(open, false, end, policy, NOON)).toBe(open)
      const trial = begun(open)
      expect(ended(trial, false, end, policy, NOON)).toBe(trial)
    }
  )

  it("opens if and only if so many failures came in a row, whatever else came", () =>
    fc.assert(
      fc.property(fc.array(fc.constantFrom<CallEnd>("answered", "failed", "abandoned")), (ends) => {
        let circuit: Circuit = closedCircuit
        let row = 0
        let opened = false
        for (const end of ends) {
          circuit = ended(circuit, false, end, policy, NOON)
          row = end === "answered" ? 0 : row + (end === "failed" ? 1 : 0)
          opened ||= row >= policy.failures
        }
        expect(circuit._tag === "Open").toBe(opened)
      })
    ))
})
