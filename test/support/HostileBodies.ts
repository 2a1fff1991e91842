import * as fc from "fast-check"
import { REQUEST_BYTES } from "../../src/http/edge/RequestBody.ts"

const CARD = "4242424242424242"
/** A wrong value of few bytes, as JSON. */
const wrongs = ['"\\u0000"', '"\\ud800"', "0", "null", "{}", '{"cvv":1}', `"${CARD}"`, '{"\\u0000":1}', '{"a":"\\u0000"}', '"x"']
const names = ["destination", "source", "metadata", "events", "payer", "otp", "authorization", "amount_minor", "other", "x"]

/** How a body is made large: `size` is about how many bytes it has. */
type Shape = (size: number) => string

const filled = (size: number, open: string, part: (at: number) => string, close: string): string => {
  const parts: Array<string> = []
  for (let at = 0, used = open.length + close.length; used < size; at++) {
    const next = part(at)
    used += next.length + 1
    parts.push(next)
  }
  return `${open}${parts.join(",")}${close}`
}

const longName = (length: number, char: string) => char.repeat(Math.max(1, Math.ceil(length / char.length)))

/** Many wrong values under one long name, so that a path for each would be many times the body. */
const underLongName: fc.Arbitrary<Shape> = fc
  .record({
    within: fc.constantFrom(...names),
    wrong: fc.constantFrom(...wrongs),
    share: fc.double({ min: 0.05, max: 0.9, noNaN: true }),
    char: fc.constantFrom("a", "€", "\\u0001", "\u202e")
  })
  .map(({ char, share, within, wrong }) => (size) => {
    const name = longName(size * share, char)
    return filled(size, `{"${within}":{"${name}":[`, () => wrong, "]}}")
  })

/** Deep nesting with wrong values at each level. */
const deep: fc.Arbitrary<Shape> = fc
  .record({
    within: fc.constantFrom(...names),
    wrong: fc.constantFrom(...wrongs),
    levels: fc.integer({ min: 1, max: 29 }),
    nameLength: fc.integer({ min: 1, max: 1_000 })
  })
  .map(({ levels, nameLength, within, wrong }) => (size) => {
    const name = "n".repeat(Math.max(1, Math.min(nameLength, Math.floor(size / levels / 2))))
    const open = `{"${within}":${`{"${name}":`.repeat(levels)}[`
    return filled(size, open, () => wrong, `]${"}".repeat(levels)}}`)
  })

/** Many members that no contract names, or that every kind of a union may have. */
const wide: fc.Arbitrary<Shape> = fc
  .record({
    within: fc.constantFrom(...names),
    wrong: fc.constantFrom(...wrongs),
    type: fc.constantFrom("momo", "bank", "wallet", "x")
  })
  .map(
    ({ type, within, wrong }) =>
      (size) =>
        filled(size, `{"${within}":{"type":"${type}"`, (at) => `${at === 0 ? "," : ""}"m${at}":${wrong}`, "}}")
  )

/** A list where an object, a text or another list belongs. */
const list: fc.Arbitrary<Shape> = fc.record({ within: fc.constantFrom(...names), wrong: fc.constantFrom(...wrongs) }).map(
  ({ within, wrong }) =>
    (size) =>
      filled(size, `{"url":"https://a.example","${within}":[`, () => wrong, "]}")
)

const hostileShape: fc.Arbitrary<Shape> = fc.oneof(underLongName, deep, wide, list)

/** A body as large as the edge lets through. */
export const hostileBody: fc.Arbitrary<string> = hostileShape.map((shape) => {
  let size = REQUEST_BYTES
  let body = shape(size)
  while (Buffer.byteLength(body) > REQUEST_BYTES) body = shape((size = Math.floor(size * 0.8)))
  return body
})
