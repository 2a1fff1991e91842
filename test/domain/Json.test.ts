import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { json, jsonBytes, parseBoth, parseExact, RawJson } from "../../src/domain/Json.ts"
import { stepsOf } from "../support/StepCount.ts"

/** More digits than a number of the language has, and spellings that it does not keep. */
const numbers = ["0.1000", "123456789012345678901234567890", "-1.50e+3", "1E2", "-0", "9007199254740993", "7"]

describe("a tenant's own JSON comes back", () => {
  it.each(numbers)("with the number %s as it was written", (number) => {
    for (const text of [number, `[${number}]`, `{"a":{"b":[true,${number},null]}}`])
      expect(json({ metadata: new RawJson(text) })).toBe(`{"metadata":${text}}`)
  })

  it("without numbers as it was written, too", () => {
    for (const text of ['{"a":"1","b":[true,false,null],"c":{}}', '"x"', "null", "[]", '{"a":"\\u0041","b":1}'])
      expect(json(new RawJson(text))).toBe(text)
  })

  it("where it stood, whatever the texts around it hold, the sign of its place among them", () => {
    const hostile = fc.string({
      unit: fc.constantFrom("\\", '"', "u0041", "A", "\u0001", "\ud800", "é•", "😀", "\u2028", ",", ":")
    })
    fc.assert(
      fc.property(fc.array(fc.tuple(hostile, hostile), { maxLength: 6 }), (texts) => {
        const tree = texts.map(([name, value]) => ({ [name]: value }))
        const written = JSON.stringify(tree)
        expect(json(tree.map((one) => [one, new RawJson(JSON.stringify(one))]))).toBe(
          JSON.stringify(tree.map((one) => [one, one]))
        )
        const nested = { [written]: new RawJson(written), of: written }
        expect(json(nested)).toBe(JSON.stringify({ [written]: tree, of: written }))
        expect(new TextDecoder().decode(jsonBytes(nested))).toBe(json(nested))
      })
    )
  })

  it("without being read: of a text no step is taken, however many members it has", () => {
    const page = (text: string) => Array.from({ length: 100 }, () => ({ amount_minor: 1n, metadata: new RawJson(text) }))
    const steps = (text: string) => stepsOf(() => json(page(text)))
    const members = (count: number) => `{"a":[${Array.from({ length: count }, (_, at) => (at % 2 === 0 ? "[]" : "1.50"))}]}`
    steps("{}")
    expect(steps(members(1_000))).toBe(steps("{}"))
  })
})

describe("JSON is read exactly", () => {
  it.each(numbers)("with the number %s as the text that was written", (number) => {
    expect(parseExact(number)).toBe(number)
    expect(parseExact(`{"a":[${number},{"b":${number}}]}`)).toStrictEqual({ a: [number, { b: number }] })
  })

  it("with the digits in a string or a name left alone, whatever is escaped there", () => {
    const text = '{"a 1":"2","b\\"3":"\\\\","c":"\\"4,-5","d":6}'
    expect(parseExact(text)).toStrictEqual({ "a 1": "2", 'b"3': "\\", c: '"4,-5', d: "6" })
    expect(parseExact('{"a":"1"}')).toStrictEqual({ a: "1" })
    expect(parseExact("null")).toBeNull()
  })

  it("beside the value that the language reads", () => {
    expect(parseBoth('{"a":1.50}')).toStrictEqual({ tree: { a: 1.5 }, exact: { a: "1.50" } })
  })

  it("whatever it holds: both have the same members, and each exact number is that number", () => {
    const numbersOf = (value: unknown): unknown =>
      typeof value === "number" ? String(value) : Array.isArray(value) ? value.map(numbersOf) : membersOf(value)
    const membersOf = (value: unknown): unknown =>
      typeof value === "object" && value !== null
        ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, numbersOf(member)]))
        : value
    fc.assert(
      fc.property(fc.json(), (text) => {
        const { exact, tree } = parseBoth(text)
        expect(tree).toStrictEqual(JSON.parse(text))
        const compact = JSON.stringify(tree)
        expect(parseExact(compact)).toStrictEqual(numbersOf(JSON.parse(compact)))
        expect(JSON.stringify(membersOf(exact)).length).toBeGreaterThan(0)
      })
    )
  })
})

it("money becomes an integer of JSON, to its last unit", () => {
  expect(json({ amount_minor: 9_007_199_254_740_991n, none: 0n, text: "1", list: [-5n] })).toBe(
    '{"amount_minor":9007199254740991,"none":0,"text":"1","list":[-5]}'
  )
})
