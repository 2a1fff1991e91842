import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  allowsCall,
  allowsTenantCall,
  type CallResult,
  type Circuit,
  closedCircuit,
  type EndedCall,
  isSilent,
  LONGEST_OPEN_MS,
  lateCallsOf,
  onCallEnd,
  onCallLate,
  onCallStart,
  onLateElsewhere
} from "../../src/domain/CircuitBreaker.ts"
import { AppId } from "../../src/domain/Ids.ts"
import { NOON } from "../support/SampleTransactions.ts"

const policy = { failures: 3, openMs: 1_000, lateMs: 1_000 }
const open: Circuit = { _tag: "Open", until: NOON + 1_000, forMs: 1_000 }
const call = (how: CallResult, over: Partial<EndedCall> = {}): EndedCall => ({
  how,
  tenant: null,
  isTrial: false,
  at: NOON,
  ...over
})
const trial = (how: CallResult, at = NOON): EndedCall => call(how, { isTrial: true, at })
const failing = (circuit: Circuit, times: number, tenant: AppId | null = null): Circuit =>
  Array.from({ length: times }).reduce<Circuit>((before) => onCallEnd(before, call("failed", { tenant }), policy), circuit)

describe("a circuit breaker", () => {
  it("opens after the configured number of failures in a row", () => {
    expect(allowsCall(failing(closedCircuit, 2), NOON)).toBe(true)
    expect(failing(closedCircuit, 3)).toStrictEqual(open)
    expect(allowsCall(open, NOON)).toBe(false)
  })

  it("starts counting again after a success", () => {
    const recovered = onCallEnd(failing(closedCircuit, 2), call("answered"), policy)
    expect(failing(recovered, 2)._tag).toBe("Closed")
  })

  it("lets one trial call through after the waiting time, and no other until that one has ended", () => {
    expect(allowsCall(open, NOON + 999)).toBe(false)
    expect(allowsCall(open, NOON + 1_000)).toBe(true)
    expect(allowsCall(onCallStart(open), NOON + 60_000)).toBe(false)
  })

  it("closes when the trial call is answered", () => {
    expect(onCallEnd(onCallStart(open), trial("answered"), policy)).toStrictEqual(closedCircuit)
  })

  it("doubles the waiting time after each failed trial, up to a bound", () => {
    let circuit: Circuit = open
    const lengths: Array<number> = []
    for (let tries = 0; tries < 7; tries++) {
      circuit = onCallEnd(onCallStart(circuit), trial("failed"), policy)
      if (circuit._tag === "Open") lengths.push(circuit.forMs)
    }
    expect(lengths).toStrictEqual([2_000, 4_000, ...Array<number>(5).fill(LONGEST_OPEN_MS)])
  })

  it("never waits less than the configured time, even where that is more than the bound", () => {
    const long = { ...policy, failures: 1, openMs: 60_000 }
    const first = onCallEnd(closedCircuit, call("failed"), long)
    expect(onCallEnd(onCallStart(first), trial("failed"), long)).toStrictEqual(first)
  })

  it("allows the next trial at once when the caller of the last one went away", () => {
    expect(allowsCall(onCallEnd(onCallStart(open), trial("abandoned", NOON + 2_000), policy), NOON + 2_000)).toBe(true)
  })

  it.each<CallResult>(["answered", "failed", "abandoned"])(
    "ignores the end (%s) of a call that began before it opened",
    (end) => {
      expect(onCallEnd(open, call(end), policy)).toBe(open)
      const halfOpen = onCallStart(open)
      expect(onCallEnd(halfOpen, call(end), policy)).toBe(halfOpen)
    }
  )

  it("is not opened by the failures of one tenant, and is opened by those of two", () => {
    const [one, two] = [AppId.make("one"), AppId.make("two")]
    const half = failing(closedCircuit, 1_000, one)
    expect(half._tag).toBe("Closed")
    expect(failing(half, 1, two)).toStrictEqual(open)
    expect(failing(onCallEnd(half, call("answered", { tenant: two }), policy), 1, two)._tag).toBe("Closed")
  })

  it("counts no more than half of what opens it for one tenant", () => {
    const ten = { ...policy, failures: 10 }
    const failed = (circuit: Circuit, times: number, tenant: AppId) =>
      Array.from({ length: times }).reduce<Circuit>((before) => onCallEnd(before, call("failed", { tenant }), ten), circuit)
    const half = failed(closedCircuit, 100, AppId.make("one"))
    expect(failed(half, 4, AppId.make("two"))._tag).toBe("Closed")
    expect(failed(half, 5, AppId.make("two"))._tag).toBe("Open")
  })

  it("stays closed when a call begins", () => {
    expect(onCallStart(closedCircuit)).toBe(closedCircuit)
  })

  it("is never opened by one tenant alone, whatever the settings", () =>
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 200 }), (failures, times) => {
        const set = { ...policy, failures }
        const failed = call("failed", { tenant: AppId.make("one") })
        const circuit = Array.from({ length: times }).reduce<Circuit>((before) => onCallEnd(before, failed, set), closedCircuit)
        expect(circuit._tag).toBe("Closed")
      })
    ))

  it("prefers a tenant without failures for the trial, and takes another one where none comes", () => {
    const own: Circuit = { _tag: "Open", until: NOON, forMs: 1_000 }
    const isLet = (mine: Circuit, at: number) => allowsTenantCall({ shared: open, own: mine }, at)
    expect(isLet(closedCircuit, NOON + 1_000)).toBe(true)
    expect(isLet(own, NOON + 1_000)).toBe(false)
    expect(isLet(own, NOON + 1_000 + LONGEST_OPEN_MS)).toBe(true)
    expect(allowsTenantCall({ shared: closedCircuit, own }, NOON - 1)).toBe(false)
    expect(allowsTenantCall({ shared: closedCircuit, own }, NOON)).toBe(true)
  })

  it("opens if and only if the configured number of failures came in a row", () =>
    fc.assert(
      fc.property(fc.array(fc.constantFrom<CallResult>("answered", "failed", "abandoned")), (ends) => {
        let circuit: Circuit = closedCircuit
        let row = 0
        let opened = false
        for (const end of ends) {
          circuit = onCallEnd(circuit, call(end), policy)
          row = end === "answered" ? 0 : row + (end === "failed" ? 1 : 0)
          opened ||= row >= policy.failures
        }
        expect(circuit._tag === "Open").toBe(opened)
      })
    ))
})

describe("a circuit breaker with calls in flight that pass their usual time", () => {
  const late = (circuit: Circuit, times: number, tenant: AppId | null = null): Circuit =>
    Array.from({ length: times }).reduce<Circuit>((before) => onCallLate(before, tenant, NOON, policy), circuit)
  const silent = { ...open, awaited: 2, openedBy: new Map([[null, 3]]) }

  it("counts each as a failure, beside those that failed", () => {
    expect(late(closedCircuit, 2)._tag).toBe("Closed")
    expect(late(closedCircuit, 3)).toStrictEqual(silent)
    expect(late(failing(closedCircuit, 2), 1)).toStrictEqual(silent)
    expect(isSilent(late(closedCircuit, 3))).toBe(true)
    expect(isSilent(failing(closedCircuit, 3))).toBe(false)
  })

  it("counts none of them twice: a late call that fails was counted", () => {
    const two = late(closedCircuit, 2)
    const failed = onCallEnd(two, call("failed", { lateOf: null }), policy)
    expect(failed).toMatchObject({ failures: new Map([[null, 1]]), late: new Map([[null, 1]]) })
    expect(late(failed, 1)._tag).toBe("Open")
  })

  it("counts a late call that never left for every tenant, and for none alone", () => {
    const one = AppId.make("one")
    const ended = onCallEnd(late(closedCircuit, 1, one), call("failed", { lateOf: one }), policy)
    expect(ended).toMatchObject({ failures: new Map([[null, 1]]), late: new Map() })
  })

  it("forgets one whose caller went away, and all of them after an answer", () => {
    expect(onCallEnd(late(closedCircuit, 2), call("abandoned", { lateOf: null }), policy)).toStrictEqual(late(closedCircuit, 1))
    expect(onCallEnd(late(closedCircuit, 2), call("answered", { lateOf: null }), policy)).toStrictEqual(closedCircuit)
    // They were forgotten: this one counts once.
    expect(onCallEnd(closedCircuit, call("failed", { lateOf: null }), policy)).toStrictEqual(failing(closedCircuit, 1))
  })

  it("counts those of other nodes where one is late here, and not without", () => {
    const theirs = new Map([[null, 2]])
    expect(onLateElsewhere(closedCircuit, new Map([[null, 100]]), NOON, policy)).toBe(closedCircuit)
    expect(onLateElsewhere(late(closedCircuit, 1), theirs, NOON, policy)).toStrictEqual({
      ...silent,
      openedBy: new Map([[null, 1]])
    })
    expect(onLateElsewhere(late(closedCircuit, 1), new Map([[null, 1]]), NOON, policy)._tag).toBe("Closed")
    expect(onLateElsewhere(open, theirs, NOON, policy)).toBe(open)
  })

  it("is not opened by the late calls of one tenant, here and elsewhere", () => {
    const one = AppId.make("one")
    expect(late(closedCircuit, 100, one)._tag).toBe("Closed")
    expect(onLateElsewhere(late(closedCircuit, 1, one), new Map([[one, 100]]), NOON, policy)._tag).toBe("Closed")
  })

  it("tells other nodes whose calls opened it, its own ones alone, and only until it may be tried again", () => {
    const [one, two] = [AppId.make("one"), AppId.make("two")]
    const opened = late(late(closedCircuit, 2, one), 1, two)
    expect(lateCallsOf(late(closedCircuit, 1, one), NOON)).toStrictEqual(new Map([[one, 1]]))
    expect(lateCallsOf(opened, NOON + 999)).toStrictEqual(
      new Map([
        [one, 2],
        [two, 1]
      ])
    )
    expect(lateCallsOf(opened, NOON + 1_000).size).toBe(0)
    expect(lateCallsOf(onCallStart(opened), NOON).size).toBe(0)
    expect(lateCallsOf(failing(closedCircuit, 3), NOON).size).toBe(0)
    expect(lateCallsOf(onLateElsewhere(late(closedCircuit, 1, one), new Map([[two, 2]]), NOON, policy), NOON)).toStrictEqual(
      new Map([[one, 1]])
    )
  })

  it.each([["open", silent] as const, ["half open", onCallStart(silent)] as const])(
    "closes while %s when half of what opened it was answered after all",
    (_, circuit) => {
      const once = onCallEnd(circuit, call("answered"), policy)
      expect(once._tag).toBe(circuit._tag)
      expect(onCallEnd(once, call("failed"), policy)).toBe(once)
      expect(onCallEnd(once, call("answered"), policy)).toStrictEqual(closedCircuit)
    }
  )

  it("closes by the answer of its trial, and after a trial that failed by that of another one alone", () => {
    expect(onCallEnd(onCallStart(silent), trial("answered"), policy)).toStrictEqual(closedCircuit)
    expect(onCallEnd(onCallStart(silent), trial("failed"), policy)).toStrictEqual({ ...open, until: NOON + 2_000, forMs: 2_000 })
    expect(onCallEnd(onCallStart(silent), trial("abandoned"), policy)).toStrictEqual({ ...open, awaited: 2, until: NOON })
    // It closed meanwhile.
    expect(onCallEnd(closedCircuit, trial("answered"), policy)).toStrictEqual(closedCircuit)
    expect(onCallEnd(closedCircuit, trial("failed"), policy)).toBe(closedCircuit)
  })

  it("is not changed by a call that becomes late once it has opened", () => {
    expect(onCallLate(open, null, NOON, policy)).toBe(open)
    expect(onCallLate(onCallStart(open), null, NOON, policy)).toStrictEqual(onCallStart(open))
  })
})
