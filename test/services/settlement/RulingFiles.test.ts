import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { minor } from "../../../src/domain/Money.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { Review } from "../../../src/services/settlement/Review.ts"
import { RulingFiles } from "../../../src/services/settlement/RulingFiles.ts"
import { fake } from "../../fakes/Fake.ts"
import { payout } from "../../support/SampleTransactions.ts"

const ruling = { outcome: "successful", known: [] } as const
const record = payout({ status: "successful", needsReview: false, fees: minor(0n), ruling })
const transactions = fake(Transactions, {
  byReference: () => Effect.succeed(Option.some({ transaction: record, revision: 1n })),
  entries: () => Effect.succeed([])
})

layer(RulingFiles.layer.pipe(Layer.provide(Layer.merge(transactions, fake(Review, {})))))("a row of a file", (it) => {
  it.effect("is ruled already only where its fee and amount are what is booked", () =>
    Effect.gen(function* () {
      const { judge } = yield* RulingFiles
      const ends = (cells: string) =>
        Effect.map(judge(`reference,outcome,fee_minor,amount_minor,currency\n${record.reference},successful,${cells}`), (file) =>
          typeof file === "string" ? file : file.left.map(({ isDone }) => isDone)
        )
      const same = [",,", "0,,UGX", `0,${record.principal},UGX`]
      const others = ["500,,UGX", "0,9999,UGX", "0,,KES"]
      expect(yield* Effect.forEach(same, ends)).toStrictEqual(same.map(() => [true]))
      expect(yield* Effect.forEach(others, ends)).toStrictEqual(others.map(() => [false]))
    })
  )
})
