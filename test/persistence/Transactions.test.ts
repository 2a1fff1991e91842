import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { fakeProvider } from "../fakes/FakeProvider.ts"
import { pay } from "../support/PaymentRequests.ts"
import { onlyRecord, records, routedTo } from "../support/RoutedGateway.ts"

const DAY_MS = 86_400_000

it.effect("a day's movements are those from its first millisecond to before the next day's first", () =>
  Effect.gen(function* () {
    const { node } = yield* routedTo([fakeProvider("alpha")])
    yield* Effect.gen(function* () {
      const { createdBetween } = yield* Transactions
      const begunOn = (day: number) => {
        const span = { provider: "alpha", mode: "live", from: day * DAY_MS, to: (day + 1) * DAY_MS } as const
        return Effect.map(createdBetween(span, null, 10), (all) => all.map(({ reference }) => reference))
      }
      yield* TestClock.setTime(DAY_MS - 1)
      expect(yield* pay("last of a day")).toBe("pending")
      const last = (yield* onlyRecord).transaction.reference
      yield* TestClock.setTime(DAY_MS)
      expect(yield* pay("first of the next")).toBe("pending")
      const [, first] = (yield* records).map(({ transaction }) => transaction.reference)
      expect([yield* begunOn(0), yield* begunOn(1)]).toStrictEqual([[last], [first]])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)
