import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Currency } from "../../../src/domain/Currency.ts"
import { FloatEntriesPg } from "../../../src/persistence/ledger/FloatEntriesPg.ts"
import { FloatEntries, type StatementPage, type StatementPosition } from "../../../src/services/ports/FloatEntries.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { appId, given } from "../../support/LedgerSteps.ts"
import { givenFloat } from "../../support/PaymentRequests.ts"
import { seeded } from "../../support/Random.ts"
import { randomHistories } from "../../support/RandomHistories.ts"
import { NOON } from "../../support/SampleTransactions.ts"

const HISTORIES = 160
const WRITERS = 4
const DAYS = 9
const DAY_MS = 86_400_000

/** Every page; each has to add up, and to begin with what the one before ended with. */
const walked = Effect.fnUntraced(function* (currency: Currency, from: number | null, to: number | null, limit: number) {
  const { statement } = yield* FloatEntries
  const pages: Array<StatementPage> = []
  for (let after: StatementPosition | null = null, isFirst = true; isFirst || after !== null; isFirst = false) {
    const range = { from, to, type: null, reference: null }
    const page: StatementPage = yield* statement({ appId, mode: "live", currency }, range, { limit, after })
    let { available, reserved } = page.opening
    for (const { after: balance, change } of page.items) {
      available += change.available
      reserved += change.reserved
      expect(balance).toEqual({ available, reserved })
    }
    expect(page.closing).toEqual({ available, reserved })
    if (pages.length > 0) expect(page.opening).toEqual(pages.at(-1)?.closing)
    pages.push(page)
    after = page.next
  }
  return pages
})

it.live("every entry of any history is in its statement once, as what it was, and opening and the items are closing", () =>
  Effect.gen(function* () {
    const { node } = yield* given(0n)
    yield* Effect.gen(function* () {
      yield* givenFloat(appId, 60_000n)
      const random = seeded(41)
      let now = NOON
      // Sometimes of a node whose clock is behind, and several of one moment.
      const clock = () => {
        now += random.below(3) * random.below((DAYS * DAY_MS) / HISTORIES / 3)
        return now - (random.chance(0.1) ? 30_000 : 0)
      }
      const { made, one } = randomHistories(random, clock)
      const writing = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: HISTORIES }, (_, each) => `history ${each}`),
          one,
          { concurrency: WRITERS, discard: true }
        )
      )
      for (let isOver = false; !isOver; ) {
        isOver = writing.pollUnsafe() !== undefined
        const from = random.chance(0.5) ? null : NOON + random.below(DAYS * DAY_MS)
        const pages = yield* walked("UGX", from, null, 7).pipe(Effect.catchTag("validation_failed", () => Effect.succeed([])))
        const ids = pages.flatMap(({ items }) => items.map(({ reference, revision }) => `${reference}-${revision}`))
        expect(new Set(ids).size).toBe(ids.length)
      }
      const types = new Set(made.map(({ type }) => type))
      expect([...types].sort().join(" ")).toBe("collect correction credit debit exchange release reserve return reverse settle")
      for (const { available, currency, owed = 0n, reserved } of yield* (yield* FloatLedger).positions(appId, "live")) {
        const pages = yield* walked(currency, null, null, 100)
        expect(pages.at(-1)?.closing).toEqual({ available: available - owed, reserved })
        const whole = pages.flatMap(({ items }) => items)
        const shown = whole
          .filter(({ externalId }) => externalId?.startsWith("given") !== true)
          .map(({ at, change, externalId, fee, reference, type }) =>
            [type, externalId ?? reference, at, change.available, change.reserved, fee].join(" ")
          )
        const done = made
          .filter((entry) => entry.currency === currency)
          .map(({ at, available: by, externalId, fee, reference, reserved: held, type }) =>
            [type, externalId ?? reference, at, by, held, fee].join(" ")
          )
        expect(shown.sort()).toEqual(done.sort())
        for (let each = 0; each < 30; each++) {
          const [from, to] = [NOON + random.below(DAYS * DAY_MS), NOON + random.below(DAYS * DAY_MS)]
          const part = yield* walked(currency, from, to, 1 + random.below(40))
          expect(part.flatMap(({ items }) => items)).toEqual(whole.filter(({ at }) => at >= from && at < to))
        }
      }
    }).pipe(Effect.provide(FloatEntriesPg), Effect.provideContext(node))
  }).pipe(Effect.scoped)
)
