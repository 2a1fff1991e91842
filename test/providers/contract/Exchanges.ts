import { expect, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import type { Adapter, ExchangeOperations } from "../../../src/services/ports/Provider.ts"
import { eventually } from "../../support/SignedClient.ts"
import { ContractBench } from "./Fixture.ts"
import { type Abilities, newReference } from "./Orders.ts"

const exchangesOf = ({ exchange }: Adapter): ExchangeOperations => Option.getOrThrow(Option.fromUndefinedOr(exchange))

/** What an exchange may answer, what a question finds afterwards, and how often it was executed. */
const rows = [
  { ending: null, answers: ["Succeeded", "Accepted"], later: "Succeeded", executed: 1 },
  { ending: "0001", answers: ["Refused"], later: "Refused", executed: 0 },
  { ending: "0003", answers: ["Unknown"], later: "Succeeded", executed: 1 },
  { ending: "0004", answers: ["Unknown"], later: "NotFound", executed: 0 },
  { ending: "0005", answers: ["Unknown"], later: "Succeeded", executed: 1 },
  { ending: "0006", answers: ["Unknown"], later: "Succeeded", executed: 1 },
  { ending: "0007", answers: ["Unknown"], later: "NotFound", executed: 0 }
] as const

/** Between the wallets of one account: exchanges carry no number, so that their ending is chosen beforehand, one after another. */
export const exchanges = (it: Vitest.MethodsNonLive<ContractBench>, { exchange: order }: Abilities) => {
  if (order === undefined) return
  it.effect("an exchange is executed once by its quote or never, and a status question says which", () =>
    Effect.gen(function* () {
      const { control, executions, impatient, live, name } = yield* ContractBench
      for (const { answers, ending, executed, later } of rows) {
        const reference = newReference()
        const quote = yield* exchangesOf(live).quote(order)
        if ("_tag" in quote) return yield* Effect.die(new Error(quote.note))
        expect(quote).toMatchObject(order)
        if (ending !== null) yield* control("next", { provider: name, operation: "exchange", ending })
        const outcome = yield* exchangesOf(impatient).execute({ ...order, reference, token: quote.token })
        expect(answers).toContain(outcome._tag)
        const asked = {
          reference,
          providerReference: null,
          currency: order.currency,
          destinationCurrency: order.destinationCurrency,
          sentAt: 0
        }
        const answer = yield* eventually(exchangesOf(live).fetchStatus(asked), ({ _tag }) => _tag === later)
        if (answer._tag === "Succeeded") {
          const { amount, currency, exchanged } = answer
          expect({ amount, currency }).toStrictEqual({ amount: order.amount, currency: order.currency })
          expect(exchanged).toMatchObject({ amount: quote.destinationAmount, currency: order.destinationCurrency })
        }
        expect((yield* executions(reference)).map(({ direction }) => direction)).toStrictEqual(
          Array.from({ length: executed }, () => "exchange")
        )
      }
    })
  )
}
