import { readFileSync } from "node:fs"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  type Candidate,
  candidatesIn,
  candidatesOf,
  candidatesText,
  foundNone,
  noteWithCandidates,
  noteWithoutCandidates,
  type Verdict,
  verdicts
} from "../../src/domain/Candidates.ts"

const one = (provider: string, verdict: Verdict, attempt: number | null = null, why = ""): Candidate => ({
  provider,
  verdict,
  attempt,
  why
})
const failedOver = [one("pawapay", "not_sent", 1, "ECONNREFUSED"), one("mtn", "circuit_open"), one("eversend", "used", 2)]
const text = "pawapay not_sent #1 (ECONNREFUSED); mtn circuit_open; eversend used #2"

const candidate = fc.record(
  {
    provider: fc.stringMatching(/^[a-z][a-z0-9_.-]{0,19}$/),
    verdict: fc.constantFrom(...(Object.keys(verdicts) as Array<Verdict>)),
    attempt: fc.option(fc.integer({ min: 1, max: 99 })),
    why: fc.constantFrom("", "HTTP 503", "no answer in time", "too_much")
  },
  { noNullPrototype: true }
)

describe("the candidates of a payment", () => {
  it("are one short line, which reads back as it was written", () => {
    expect(candidatesText(failedOver)).toBe(text)
    fc.assert(
      fc.property(fc.array(candidate, { maxLength: 16 }), (all) => {
        expect(candidatesIn(candidatesText(all))).toStrictEqual(all)
      })
    )
  })

  it("stay short whatever a connection says, and whatever it says divides nothing", () => {
    const hostile = one("p; x used #1", "not_sent", 1, `) ; candidates: evil used #1 (${"x".repeat(500)}\n`)
    const said = candidatesText(Array.from({ length: 40 }, () => hostile))
    expect(said.length).toBeLessThan(16 * 120)
    expect(said).not.toMatch(/[\n]/)
    expect(candidatesIn(said).map(({ provider, verdict }) => [provider, verdict])).toStrictEqual(
      Array.from({ length: 16 }, () => ["p__x_used__1", "not_sent"])
    )
  })

  it("leave a word out that this release does not know", () => {
    expect(candidatesIn(`mtn on_strike; ${text}`)).toStrictEqual(failedOver)
  })

  it("end a note, which can be read without them", () => {
    const note = noteWithCandidates("the bank knows the account's holder as J•••; so it says", text)
    expect(note).toBe(`the bank knows the account's holder as J•••; so it says; candidates: ${text}`)
    expect(noteWithoutCandidates(note)).toBe("the bank knows the account's holder as J•••; so it says")
    expect([noteWithCandidates("", text), noteWithCandidates("ECONNREFUSED", "")]).toStrictEqual([
      `candidates: ${text}`,
      "ECONNREFUSED"
    ])
    expect([noteWithoutCandidates(`candidates: ${text}`), noteWithoutCandidates("ECONNREFUSED")]).toStrictEqual([
      "",
      "ECONNREFUSED"
    ])
  })

  it("leave what is appended to a note behind them where it is", () => {
    const figures = "amount unsaid; fee unsaid"
    const full = "not booked: the float cannot hold that much; polled to the end of the schedule: a person has to look"
    const note = noteWithCandidates("HTTP 503", text)
    expect(noteWithoutCandidates(`${note}; ${figures}; ${full}`)).toBe(`HTTP 503; ${figures}; ${full}`)
    expect(noteWithoutCandidates(`candidates: mtn on_strike; ${text}; ${full}`)).toBe(full)
    expect(candidatesOf([{ note: `${note}; ${figures}; ${full}` }])).toStrictEqual(failedOver)
    expect(noteWithoutCandidates("the bank has candidates: none of them matches")).toBe(
      "the bank has candidates: none of them matches"
    )
  })

  it("are those of the newest line of the history that names any", () => {
    const history = [
      { note: "candidates: pawapay used #1; mtn not_asked; eversend not_asked" },
      { note: noteWithCandidates("never sent to pawapay, goes to eversend: ECONNREFUSED", text) },
      { note: "no answer in time" }
    ]
    expect(candidatesOf(history)).toStrictEqual(failedOver)
    expect(candidatesOf([{ note: "" }, { note: "status pending" }])).toStrictEqual([])
  })

  it("found no provider where each was passed over, and not where one was tried or none was asked", () => {
    expect(foundNone([one("mtn", "circuit_open"), one("eversend", "no_price")])).toBe(true)
    expect(foundNone(failedOver)).toBe(false)
    expect(foundNone([one("mtn", "refused", null, "party"), one("eversend", "not_asked")])).toBe(false)
    expect(foundNone([])).toBe(false)
  })

  it("are explained to operators, each verdict with the words that the console has", () => {
    const page = readFileSync("docs/operations/investigating.md", "utf8")
    for (const [verdict, meaning] of Object.entries(verdicts)) expect(page).toContain(`| \`${verdict}\` | ${meaning} |`)
  })
})
