import { describe, expect, it } from "vitest"
import { RateGate } from "../../src/simulator/ProviderServer.ts"
import { knownSimulators } from "../../src/simulator/Registry.ts"
import { page } from "../../src/simulator/Responses.ts"

const tooMany = page("Too many requests", 429)
const SPACING_MS = 10

/** How many of so many calls, ten milliseconds apart, are let in. */
const letIn = (gate: RateGate, calls: number, from: number): number =>
  Array.from({ length: calls }, (_, call) => gate.answer(tooMany, from + call * SPACING_MS)).filter((away) => away === undefined)
    .length

describe("a simulated provider with a rate", () => {
  it("takes every call until a rate is set, and again when it is lifted", () => {
    const gate = new RateGate()
    expect(letIn(gate, 100, 0)).toBe(100)
    gate.set({ callsPerSecond: 1 })
    expect(letIn(gate, 100, 0)).toBe(1)
    gate.set(null)
    expect(letIn(gate, 100, 0)).toBe(100)
    expect(gate.turnedAway).toBe(0)
  })

  it("lets in so many calls within any second, across the full second too, and counts those that it turns away", () => {
    const gate = new RateGate()
    gate.set({ callsPerSecond: 10 })
    // Ten in the last tenth of a second: the ninety that follow within the same second are too many, whatever second the clock shows.
    expect(letIn(gate, 10, 900)).toBe(10)
    expect(letIn(gate, 90, 1_000)).toBe(0)
    expect(gate.turnedAway).toBe(90)
    expect(letIn(gate, 10, 1_900)).toBe(10)
  })

  it("says when to come again only where it was told to", () => {
    const gate = new RateGate()
    gate.set({ callsPerSecond: 0 })
    expect(gate.answer(tooMany, 0)).toStrictEqual(tooMany)
    gate.set({ callsPerSecond: 0, retryAfterSeconds: 7 })
    expect(gate.answer(tooMany, 0)).toStrictEqual({ ...tooMany, retryAfter: "7" })
  })

  it("answers 429 in the form of each provider", () => {
    const forms = knownSimulators.map(({ accounts, name, simulated }) => {
      const away = simulated(accounts({ baseUrl: "http://127.0.0.1", timeoutMs: 1 })).tooMany
      return away.kind === "response" ? [name, away.status, away.body] : [name]
    })
    expect(forms).toStrictEqual([
      ["eversend", 429, '{"code":429,"success":false,"message":"Too many requests"}'],
      ["pawapay", 429, "<html><body>Too many requests</body></html>"],
      ["flutterwave", 429, '{"status":"error","message":"Too many requests","data":null}'],
      [
        "paystack",
        429,
        '{"status":false,"message":"An error occurred","meta":{"nextStep":"Read the message"},"type":"api_error","code":"unknown"}'
      ],
      ["mtn", 429, '{"statusCode":429,"message":"Rate limit is exceeded. Try again in 1 seconds."}'],
      ["airtel", 429, '{"status":{"code":"429","message":"Too many requests","success":false}}'],
      [
        "daraja",
        429,
        '{"requestId":"7d10-4c6e-81ce-1","errorCode":"500.003.02","errorMessage":"System is busy. Please try again in few minutes."}'
      ],
      ["wave", 429, '{"code":"too-many-requests","message":"You have made too many requests."}']
    ])
  })
})
