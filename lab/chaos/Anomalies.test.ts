import * as fc from "fast-check"
import { expect, it } from "vitest"
import { anomalies } from "./Anomalies.ts"
import type { History, Look } from "./History.ts"

const nothing: History = {
  looks: [],
  positions: [],
  answers: [],
  told: [],
  plainKeys: new Set(["k1"]),
  credit: 1000,
  returned: new Map([["acme", 50]])
}
const look = (version: number, begun: number, ended: number, more: Partial<Look> = {}): Look => {
  const status = more.status ?? (version > 2 ? "successful" : "pending")
  return { reference: "R1", version, status, text: `{"version":${version}}`, begun, ended, ...more }
}
const told = (version: number, at: number, more: Readonly<Record<string, string>> = {}) => ({
  id: "E1",
  type: "payout.successful",
  reference: "R1",
  version,
  status: "successful",
  at,
  ...more
})
const answer = (version: number, begun: number, more: Readonly<Record<string, string | number>> = {}) => ({
  key: "k1",
  status: 201,
  text: `{"version":${version}}`,
  reference: "R1",
  version,
  begun,
  ended: begun + 1,
  ...more
})
const members = { available_minor: 890, reserved_minor: 0, collected_minor: 0, paid_out_minor: 100, provider_fees_minor: 10 }
const position = (more: Readonly<Record<string, number>> = {}, begun = 0) => ({
  appId: "acme",
  members: { ...members, ...more },
  begun,
  ended: begun + 1
})

it("a history in which everything is as it should be has no anomaly", () => {
  const history = {
    ...nothing,
    looks: [look(1, 2, 4), look(2, 3, 5), look(1, 4, 6), look(3, 7, 8)],
    told: [told(3, 6), told(3, 9)],
    answers: [answer(1, 0), answer(1, 10)],
    positions: [position(), position({ collected_minor: 5, available_minor: 895 }, 2)]
  }
  expect(anomalies(history)).toEqual([])
})

it.each([
  ["a read that shows an older version than an earlier read", { looks: [look(2, 0, 1), look(1, 2, 3)] }, "after version 2"],
  ["a read that shows less than an event has told", { told: [told(3, 1)], looks: [look(2, 2, 3)] }, "after version 3"],
  [
    "a read that shows less than the answer to the request",
    { answers: [answer(2, 0)], looks: [look(1, 2, 3)] },
    "after version 2"
  ],
  ["one version with two contents", { looks: [look(1, 0, 1), look(1, 0, 1, { text: "{}" })] }, "show it differently"],
  ["a record that closes twice", { looks: [look(3, 0, 1), look(4, 2, 3, { status: "failed" })] }, "failed in version 4"],
  ["a record that opens again", { looks: [look(3, 0, 1), look(4, 2, 3, { status: "pending" })] }, "pending in version 4"],
  [
    "a charge that failed after it had expired",
    { looks: [look(3, 0, 1, { status: "expired" }), look(4, 2, 3, { status: "failed" })] },
    "expired in version 3, and failed in version 4"
  ],
  [
    "a charge that expired after it was paid late",
    {
      told: [told(3, 1, { type: "collection.expired", status: "expired" }), told(4, 2, { id: "E2" })],
      looks: [look(5, 3, 4, { status: "expired" })]
    },
    "successful in version 4, and expired in version 5"
  ],
  ["two events of one end", { told: [told(3, 1), told(3, 2, { id: "E2" })] }, "two events close it"],
  ["a key with two statuses", { answers: [answer(1, 0), answer(1, 2, { status: 422 })] }, "and later 422"],
  ["a key with two references", { answers: [answer(1, 0), answer(1, 2, { reference: "R2" })] }, "two references"],
  ["a key whose kept answer changes", { answers: [answer(1, 0), answer(1, 2, { text: "{ }" })] }, "different bytes"],
  ["a key that answers an older version", { answers: [answer(2, 0), answer(1, 2)], plainKeys: new Set<string>() }, "later 1"],
  ["a float below zero", { positions: [position({ available_minor: -10, reserved_minor: 900 })] }, "available is -10"],
  ["a float that is not what came in", { positions: [position({ available_minor: 889 })] }, "-1 is there that nobody"],
  ["a float with more than came in", { positions: [position({ available_minor: 941 })] }, "51 is there that nobody"],
  ["a return that is gone again", { positions: [position({ available_minor: 920 }), position({}, 2)] }, "returned was 30"],
  [
    "a total that shrinks",
    { positions: [position(), position({ paid_out_minor: 99, available_minor: 891 }, 2)] },
    "paid out was 100"
  ]
])("finds %s", (_, more, expected) => {
  const found = anomalies({ ...nothing, ...more })
  expect(found.join("\n")).toContain(expected)
})

it("a charge that expired and was paid late after all has two ends, each with its event", () => {
  const expired = { type: "collection.expired", status: "expired" }
  const paid = { type: "collection.successful", id: "E2" }
  const looks = [look(3, 0, 1, { status: "expired" }), look(4, 4, 5)]
  expect(anomalies({ ...nothing, looks, told: [told(3, 1, expired), told(3, 2, expired), told(4, 3, paid)] })).toEqual([])
})

it("two reads at the same time may show either version, and a key whose first answer was lost may show the record as it is by then", () => {
  expect(anomalies({ ...nothing, looks: [look(2, 0, 5), look(1, 1, 6)] })).toEqual([])
  const answers = [answer(2, 0), answer(3, 2)]
  expect(anomalies({ ...nothing, answers, plainKeys: new Set<string>() })).toEqual([])
  expect(anomalies({ ...nothing, answers })).not.toEqual([])
})

it("every history that one register could have made is free of anomalies, and each read of it that is older than one before it is found", () => {
  // Reads of one register that changes at 10, 20, 30: each shows what was there at some moment between its beginning and its end.
  const read = fc
    .record({
      begun: fc.integer({ min: 0, max: 40 }),
      lasts: fc.integer({ min: 1, max: 15 }),
      at: fc.double({ min: 0, max: 1, noNaN: true })
    })
    .map(({ at, begun, lasts }) => look(1 + Math.floor((begun + at * lasts) / 10), begun, begun + lasts, { status: "pending" }))
  fc.assert(
    fc.property(fc.array(read, { minLength: 1, maxLength: 30 }), (looks) => {
      expect(anomalies({ ...nothing, looks })).toEqual([])
      const last = Math.max(...looks.map(({ ended }) => ended))
      const newest = Math.max(...looks.map(({ version }) => version))
      const older = look(newest - 1, last + 1, last + 2, { status: "pending" })
      expect(anomalies({ ...nothing, looks: [...looks, older] })).not.toEqual([])
    })
  )
})
