import { describe, expect, it } from "vitest"
import { type CallTime, callTimesText, noteAndCalls, noteWithCalls } from "../../src/domain/CallTimes.ts"

const quotation: CallTime = {
  provider: "eversend",
  operation: "quotation",
  end: "200",
  tookMs: 19.4,
  phases: { wait: 2.5, dns: 0.4, connect: 0.7, tls: 1.3, first_byte: 16.6, body: 0 }
}
const payout: CallTime = {
  provider: "eversend",
  operation: "payout",
  end: "timeout",
  tookMs: 15001.6,
  phases: { pace: 350, wait: 0.5 }
}
const both =
  "eversend quotation 200 in 19.4 (wait 2.5 dns 0.4 connect 0.7 tls 1.3 first_byte 16.6 body 0), eversend payout timeout in 15001.6 (pace 350 wait 0.5)"

describe("where the time of calls went", () => {
  it("is one text that says it in the order of the phases, and is read as what it was", () => {
    expect(callTimesText([quotation, payout])).toBe(both)
    expect(noteAndCalls(`calls: ${both}`)).toStrictEqual({ note: "", calls: [quotation, payout] })
  })

  it("stands at the end of a note, behind its candidates and figures, and the note is as it was without it", () => {
    const note = "HTTP 503; candidates: mtn circuit_open; eversend used #2; amount 10000 UGX; fee unsaid"
    const stored = noteWithCalls(note, [quotation, payout])
    expect(stored).toBe(`${note}; calls: ${both}`)
    expect(noteAndCalls(stored)).toStrictEqual({ note, calls: [quotation, payout] })
    expect([noteWithCalls(note, []), noteWithCalls("", [payout])]).toStrictEqual([
      note,
      "calls: eversend payout timeout in 15001.6 (pace 350 wait 0.5)"
    ])
    expect(noteAndCalls(note)).toStrictEqual({ note, calls: [] })
  })

  it("is not what a person or a provider wrote in the same words", () => {
    for (const note of [
      "two calls: nobody answered",
      "calls: mtn said no",
      "asked; calls: three, all in vain (no answer)",
      "calls: "
    ])
      expect(noteAndCalls(note)).toStrictEqual({ note, calls: [] })
    const written = "their support calls: it is paid"
    expect(noteAndCalls(noteWithCalls(written, [payout]))).toStrictEqual({ note: written, calls: [payout] })
  })

  it("is not what a person or a provider wrote in the form of calls", () => {
    const forged = "calls: mtn send 200 in 3.1 (wait 1)"
    for (const [note, stored] of [
      [forged, "calls : mtn send 200 in 3.1 (wait 1)"],
      [`paid; ${forged}`, "paid; calls : mtn send 200 in 3.1 (wait 1)"],
      [`${forged}; ${forged}`, "calls : mtn send 200 in 3.1 (wait 1); calls : mtn send 200 in 3.1 (wait 1)"],
      [`calls:  said; ${forged}`, "calls :  said; calls : mtn send 200 in 3.1 (wait 1)"]
    ] as const) {
      expect(noteWithCalls(note, [])).toBe(stored)
      expect(noteAndCalls(stored)).toStrictEqual({ note: stored, calls: [] })
      expect(noteWithCalls(stored, [])).toBe(stored)
      expect(noteAndCalls(noteWithCalls(note, [payout]))).toStrictEqual({ note, calls: [payout] })
    }
  })

  it("knows the phases of this release, of a text that a later one wrote", () => {
    const later = "calls: mtn quote 200 in 9 (wait 1 handshake 3 first_byte 5)"
    expect(noteAndCalls(later).calls).toStrictEqual([
      { provider: "mtn", operation: "quote", end: "200", tookMs: 9, phases: { wait: 1, first_byte: 5 } }
    ])
  })

  it("names what it names in one word each, whatever an adapter calls it", () => {
    const [call] = noteAndCalls(noteWithCalls("", [{ ...payout, operation: "pay (out), now" }])).calls
    expect(call).toStrictEqual({ ...payout, operation: "pay__out___now" })
  })
})
