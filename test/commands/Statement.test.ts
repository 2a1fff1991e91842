import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { gateway, givenUrl, installedOn } from "./Gateway.ts"

describe("gateway float statement", () => {
  it.effect("prints what the tenant reads, without an operator's note, as a table, as JSON and as CSV", () =>
    Effect.gen(function* () {
      const variables = installedOn(yield* givenUrl)
      const run = (line: string) => gateway(variables, ...line.split(" "))
      yield* run("tenant create acme")
      const adjusted = (direction: string, amount: number, id: string) =>
        run(
          `float ${direction} acme --mode live --currency UGX --amount-minor ${amount} --external-id ${id} --note ours-alone --json`
        )
      yield* adjusted("credit", 900, "bank-1")
      yield* adjusted("debit", 200, "=1+1")
      const of = "float statement acme --currency UGX"
      const whole = yield* run(`${of} --json`)
      expect(JSON.parse(whole.output)).toMatchObject({
        currency: "UGX",
        from: null,
        to: null,
        opening: { available_minor: 0, reserved_minor: 0 },
        closing: { available_minor: 700, reserved_minor: 0 },
        items: [
          { type: "credit", external_id: "bank-1", available_change_minor: 900, available_after_minor: 900 },
          { type: "debit", external_id: "=1+1", available_change_minor: -200, available_after_minor: 700 }
        ]
      })
      const csv = yield* run(`${of} --csv`)
      const rows = csv.output.split("\n").map((line) => line.split(","))
      expect(rows[0]?.slice(0, 5)).toEqual(["id", "at", "type", "reference", "external_id"])
      expect(rows.slice(1).map((row) => [row[2], row[4], row[5], row[8]])).toEqual([
        ["credit", "bank-1", "900", "900"],
        ["debit", "'=1+1", "-200", "700"]
      ])
      const table = yield* run(of)
      for (const { errors, output } of [whole, csv, table]) expect([errors, output.includes("ours-alone")]).toEqual(["", false])
      const later = yield* run(`${of} --from 2100-01-01T00:00:00.000Z --json`)
      expect(JSON.parse(later.output)).toMatchObject({ opening: { available_minor: 700 }, items: [] })
      expect(yield* run(`${of} --csv --json`)).toMatchObject({ code: 1, errors: expect.stringContaining("two forms") })
      expect(yield* run("float statement nobody --currency UGX")).toMatchObject({ code: 1 })
      expect(yield* run(`${of} --from May`)).toMatchObject({ code: 2 })
    })
  )
})
