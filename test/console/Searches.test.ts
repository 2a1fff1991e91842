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

const opened = Effect.fnUntraced(function* (query: string) {
  const { routes } = yield* makeTransactions
  const [route] = routes
  const answer = yield* (route ?? unexpected("routes", [])).answer({
    visitor: { name: OperatorName.make("jane"), role: "viewer", createdAt: NOON, session: Redacted.make(""), formToken: "" },
    at: NOON,
    path: "/transactions",
    params: {},
    query: new URLSearchParams(query),
    form: new URLSearchParams()
  })
  return answer._tag === "Redirect" ? yield* Effect.die(new Error(answer.to)) : answer
})

const refusing = fake(Transactions, {
  search: () => Effect.fail(new RateLimited({ scope: "server", retry_after_seconds: 1 }))
})

it.effect(
  "a search beside too many others is answered with 429 and asked for again by the form, which is as it was filled in",
  () =>
    Effect.gen(function* () {
      const answer = yield* opened("app=shop-7")
      const shown = renderToString(h("main", null, answer.body))
      expect([answer.status, shown]).toEqual([429, expect.stringContaining("Other searches are under way.")])
      expect(shown).toContain('value="shop-7"')
    }).pipe(Effect.provide(Layer.merge(refusing, fakeProviderRegistry([]))))
)

it.effect.each<readonly [string, string | null]>([
  ["+256772123456", "3456"],
  ["256772123456", "3456"],
  ["00256 772 123-456", "3456"],
  ["0772.123.456", "3456"],
  ["(0772) 123\u2011456", "3456"],
  ["\u200E+256 772 123 456\u00A0", "3456"],
  ["\uFF10\uFF17\uFF17\uFF12\uFF11\uFF12\uFF13\uFF14\uFF15\uFF16", "3456"],
  ["9030/001.234", "1234"],
  ["3456", "3456"],
  ["A12b", "A12b"],
  // Neither a whole number nor the end of one.
  ["772123", null],
  ["2567721234567890", null],
  ["2567a2123456", null]
])(
  "a search for %s finds those whose number ends in %s, and a whole number is found however it is written (38.3)",
  ([word, end]) =>
    Effect.gen(function* () {
      const searched: Array<string | null> = []
      const transactions = fake(Transactions, {
        byReference: () => Effect.succeedNone,
        byProviderReference: () => Effect.succeed([]),
        search: ({ partyEnd }) => Effect.sync(() => (searched.push(partyEnd), { items: [], olderThan: null }))
      })
      const { status } = yield* opened(new URLSearchParams({ q: word }).toString()).pipe(
        Effect.provide(Layer.merge(transactions, fakeProviderRegistry([])))
      )
      expect([status ?? 200, searched]).toStrictEqual([200, end === null ? [] : [end]])
    })
)
