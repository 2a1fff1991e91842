import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { visibleText, withoutUnseen } from "../../src/domain/VisibleText.ts"

/** A title that is set, a line that is forged, text that runs backwards, and what nobody sees. */
const hostile = [
  ["ESC", "\u001b[2J", "\\u001b[2J"],
  ["OSC", "\u001b]0;paid\u0007", "\\u001b]0;paid\\u0007"],
  ["C1", "\u009b31m", "\\u009b31m"],
  ["a line break", "a\nb\r\nc", "a\\nb\\r\\nc"],
  ["line separators", "a\u2028b\u2029c\u0085d", "a\\u2028b\\u2029c\\u0085d"],
  ["a bidirectional override", "\u202egnp.exe", "\\u202egnp.exe"],
  ["isolates", "\u2066x\u2069", "\\u2066x\\u2069"],
  ["zero width", "a\u200bb\ufeffc\u00add", "a\\u200bb\\ufeffc\\u00add"],
  ["tags", "a\u{e0041}", "a\\udb40\\udc41"],
  ["half a character", "a\ud800", "a\\ud800"],
  ["a tab", "a\tb", "a\\tb"]
] as const

describe("text from outside, as a terminal shows it", () => {
  for (const [what, given, shown] of hostile) it(`shows ${what}`, () => expect(visibleText(given)).toBe(shown))

  it("shows what is nothing but unseen", () => expect(visibleText("\u202e\u200b")).toBe("\\u202e\\u200b"))

  it("keeps ordinary text of any language", () => {
    const said = "José Ångström, 田中, مرحبا, UGX 1,000 — “ok” \\n 🎉"
    expect(visibleText(said)).toBe(said)
  })

  it("does not change the meaning of a JSON text", () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: "binary" }), (text) => {
        expect(JSON.parse(visibleText(text))).toEqual(JSON.parse(text))
      })
    )
  })

  it("is not changed by a second pass", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(visibleText(visibleText(text))).toBe(visibleText(text))
      })
    )
  })
})

describe("text from outside without what nobody sees", () => {
  it.each([
    ["a name that was copied from a table", "Jane\tDoe", "Jane Doe"],
    ["an address on two lines", "1 Moi Avenue\r\nNairobi", "1 Moi Avenue Nairobi"],
    ["lines by other separators", "a\u2028b\u2029c\u0085d\u000Be\fg", "a b c d e g"],
    ["several lines", "a\n\n\nb", "a b"],
    ["characters without width", "a\u200Bb\uFEFFc\u00ADd\u202Ee", "abcde"],
    ["a bell, and half a character", "a\u0007b\uD800", "ab"],
    ["ordinary text", "José  Ångström, 田中", "José  Ångström, 田中"]
  ])("keeps the words apart, and nothing else: %s", (_, given, left) => {
    expect(withoutUnseen(given)).toBe(left)
  })

  it("is not changed by a second pass, and is all seen", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const left = withoutUnseen(text)
        expect(withoutUnseen(left)).toBe(left)
        expect(visibleText(left)).toBe(left)
      })
    )
  })
})
