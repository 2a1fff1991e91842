import { expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { h } from "preact"
import { renderToString } from "preact-render-to-string"
import { makeTransactions } from "../../src/console/pages/Transactions.ts"
import { RateLimited } from "../../src/domain/errors/Retriable.ts"
import { OperatorName } from "../../src/domain/Operator.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { fake, unexpected } from "../fakes/Fake.ts"
import { fakeProviderRegistry } from "../fakes/FakeProvider.ts"
import { NOON } from "../support/SampleTransactions.ts"

const refusing = fake(Transactions, {
  search: () => Effect.fail(new RateLimited({ scope: "server", retry_after_seconds: 1 }))
})

it.effect(
  "a search beside too many others is answered with 429 and asked for again by the form, which is as it was filled in",
  () =>
    Effect.gen(function* () {
      const { routes } = yield* makeTransactions
      const [route] = routes
      const answer = yield* (route ?? unexpected("routes", [])).answer({
        visitor: { name: OperatorName.make("jane"), role: "viewer", createdAt: NOON, session: Redacted.make(""), formToken: "" },
        at: NOON,
        path: "/transactions",
        params: {},
        query: new URLSearchParams("app=shop-7"),
        form: new URLSearchParams()
      })
      if (answer._tag === "Redirect") return yield* Effect.die(new Error(answer.to))
      const shown = renderToString(h("main", null, answer.body))
      expect([answer.status, shown]).toEqual([429, expect.stringContaining("Other searches are under way.")])
      expect(shown).toContain('value="shop-7"')
    }).pipe(Effect.provide(Layer.merge(refusing, fakeProviderRegistry([]))))
)
