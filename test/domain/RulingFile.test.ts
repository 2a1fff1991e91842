import { describe, expect, it } from "vitest"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { readRulingFile } from "../../src/domain/RulingFile.ts"

const one = Reference.make("AAA688MG9KT6BQ76F4NM4BJRH5")
const two = Reference.make("BBB688MG9KT6BQ76F4NM4BJRH5")
const read = (...lines: ReadonlyArray<string>) => readRulingFile(lines.join("\n"))
const row = { line: 2, reference: one, outcome: "successful", amount: null, fee: null, currency: null }

describe("a file of rulings", () => {
  it.each([
    ["with the two columns that it needs", ["reference,outcome", `${one},successful`], row],
    [
      "as a spreadsheet writes it",
      ['\uFEFF"Reference";"Outcome";"Fee_minor";"Currency"', `"${one}";"Successful";"1200";"UGX"\r`],
      { ...row, fee: minor(1200n), currency: "UGX" }
    ],
    [
      "with columns in another order",
      ["outcome\tcurrency\treference", `FAILED\tugx\t${one.toLowerCase()}`],
      { ...row, outcome: "failed", currency: "UGX" }
    ],
    [
      "with an amount, and empty lines",
      ["", "reference,outcome,amount_minor,currency", "", `${one},successful,9999,KES`, ""],
      { ...row, line: 4, amount: minor(9999n), currency: "KES" }
    ],
    [
      "with a fee of nothing",
      ["reference,outcome,fee_minor,currency", `${one},successful,0,UGX`],
      { ...row, fee: minor(0n), currency: "UGX" }
    ]
  ])("is read %s", (_, lines, expected) => {
    expect(read(...lines)).toStrictEqual({ rows: [expected], bad: [] })
  })

  it.each([
    ["", /lacks reference and outcome/],
    ["reference,fee_minor", /lacks outcome/],
    ["reference,outcome,fee", /there is no column fee/],
    ["reference,outcome,outcome", /named twice/],
    ["reference,outcome", /no line beside the header/],
    [`reference,outcome\n${`${one},failed\n`.repeat(1_001)}`, /1001 lines: at most 1000/]
  ])("is none: %j", (text, why) => {
    expect(readRulingFile(text)).toMatch(why)
  })

  it.each([
    [`${one},success,,,`, "the outcome is successful or failed"],
    [`${one},,,,`, "the outcome is successful or failed"],
    [`${one},failed,12.50,,`, "fee_minor is a whole number of the currency's smallest unit, or empty"],
    [`${one},failed,-1,,`, "fee_minor is a whole number of the currency's smallest unit, or empty"],
    [`${one},failed,9007199254740992,,`, "fee_minor is a whole number of the currency's smallest unit, or empty"],
    [`${one},successful,,0,`, "amount_minor is a whole number of the currency's smallest unit above 0, or empty"],
    [`${one},successful,1200,,`, "a figure needs its currency"],
    [`${one},successful,,9999,`, "a figure needs its currency"],
    [`${one},successful,,,XYZ`, "the currency is not one that we know"],
    [`${one},successful,1,2,UGX,more`, "it has 6 values, and the header names 5"],
    // The end of a file that was cut off: what is missing is nobody's figure.
    [`${one},successful`, "it has 2 values, and the header names 5"],
    ["256772123456,failed,,,", "the reference is none of ours: it has 26 characters"]
  ])("has a row that says nothing: %s", (line, why) => {
    const file = read("reference,outcome,fee_minor,amount_minor,currency", line, `${two},failed,,,`)
    expect(file).toMatchObject({ rows: [{ line: 3, reference: two }], bad: [{ line: 2, why }] })
    // A number in the place of a reference is somebody's, perhaps.
    expect(JSON.stringify(file, (_, value) => (typeof value === "bigint" ? String(value) : value))).not.toContain("256772123456")
  })

  it("has no row of a reference that another line names and says nothing readable of", () => {
    const file = read("outcome,reference", `refunded,${one.toLowerCase()}`, `failed,${two}`, `failed,${one}`)
    expect(file).toMatchObject({
      rows: [{ line: 3, reference: two }],
      bad: [
        { line: 2, reference: one, why: "the outcome is successful or failed" },
        { line: 4, reference: one, why: "the reference stands on line 2 as well" }
      ]
    })
  })

  it("has no row of a reference that it names twice, whatever they say", () => {
    const file = read("reference,outcome", `${one},failed`, `${two},failed`, `${one},failed`)
    expect(file).toMatchObject({
      rows: [{ line: 3 }],
      bad: [
        { line: 2, why: "the reference stands on line 4 as well" },
        { line: 4, why: "the reference stands on line 2 as well" }
      ]
    })
  })
})
