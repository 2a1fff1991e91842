import { describe, expect, it } from "vitest"
import { asText } from "../../src/commands/Output.ts"

describe("the plain output of a result", () => {
  it("has one line for each member, and marks an empty one", () => {
    expect(asText({ ok: true, differences: [], broken_at: null, total: { amount_minor: 1050n, currency: "KES" } })).toBe(
      [
        "ok           true",
        "differences  none",
        "broken_at    -",
        "total",
        "  amount_minor  KES 10.50 (1050 minor)",
        "  currency      KES"
      ].join("\n")
    )
    expect(asText([])).toBe("none")
  })

  it("has one line for each row of a list", () => {
    expect(
      asText([
        { app_id: "acme", capabilities: [] },
        { app_id: "b", capabilities: ["fx", "payouts"] }
      ])
    ).toBe(["app_id  capabilities", "acme    none", "b       fx,payouts"].join("\n"))
  })

  it("shows cases one below the other when each has a list of its own", () => {
    expect(
      asText([
        { reference: "R1", history: [{ fact: "Opened" }, { fact: "Unknown" }] },
        { reference: "R2", history: [] }
      ])
    ).toBe(["reference  R1", "history", "  fact", "  Opened", "  Unknown", "", "reference  R2", "history    none"].join("\n"))
  })
})
