import { Effect } from "effect"
import type { Transaction } from "../../domain/Transaction.ts"
import type { Shown } from "../../domain/View.ts"
import type { Transactions } from "../ports/Transactions.ts"

/** Only a successful collection can be refunded, and it stays successful. */
const mayHaveRefunds = ({ kind, status }: Transaction): boolean => kind === "collection" && status === "successful"

/** The records in order, collections with their refunds' sum. One read per tenant and mode, none where no refund can be. */
export const withRefunds =
  ({ refunded }: Pick<Transactions["Service"], "refunded">) =>
  <R extends Transaction>(records: ReadonlyArray<R>): Effect.Effect<ReadonlyArray<Shown<R>>> =>
    Effect.gen(function* () {
      const owners = Map.groupBy(records.filter(mayHaveRefunds), ({ appId, mode }) => `${appId} ${mode}`)
      const sums = new Map(
        (yield* Effect.forEach(owners.values(), (own) => {
          const [first] = own
          if (first === undefined) return Effect.succeed([])
          return Effect.map(
            refunded(
              first,
              own.map(({ reference }) => reference)
            ),
            (found) => [...found]
          )
        })).flat()
      )
      return records.map((record): Shown<R> => {
        const sum = mayHaveRefunds(record) ? sums.get(record.reference) : undefined
        return sum === undefined ? record : { ...record, refunded: sum }
      })
    })

/** One record with the sum of its refunds. */
export const withItsRefunds = (transactions: Pick<Transactions["Service"], "refunded">) => {
  const refunded = withRefunds(transactions)
  return <R extends Transaction>(record: R): Effect.Effect<Shown<R>> =>
    mayHaveRefunds(record) ? Effect.map(refunded([record]), ([first]) => first ?? record) : Effect.succeed(record)
}
