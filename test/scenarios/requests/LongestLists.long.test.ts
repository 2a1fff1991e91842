import { expect, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf } from "../../support/SignedClient.ts"
import { asOwner, Stack, tenantOn } from "../../support/Stack.ts"

/** So many records, each with metadata of arrays: what a page of a list costs the most for its bytes. */
const LISTED = 100
const metadata = JSON.stringify({ lists: Array.from({ length: 700 }, () => [[1.5]]) })
/** Of the pages that one tenant asks for without end, so many may be answered while a neighbour waits for its own request: one is read at a time. */
const PAGES_MEANWHILE = 6
/** One is read and seven wait. */
const AT_ONCE = 8

layer(Stack.layer({ RATE_LIMIT_READS: "off", PROVIDER_TIMEOUT_MS: "15000" }), { excludeTestServices: true })(
  "a tenant that reads its longest lists, many at once",
  (it) => {
    it.effect("leaves its neighbour's float and payouts answered among its first pages", () =>
      Effect.gen(function* () {
        const { database, gateway } = yield* Stack
        const [noisy, neighbour] = [yield* tenantOn(gateway), yield* tenantOn(gateway, 1_000_000n)]
        const charged = referenceOf(yield* noisy.post("/v1/collections", momoCharge("1234")))
        const owner = yield* asOwner(database)
        yield* owner`INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at)
          SELECT app_id, 'M' || lpad(n::text, 25, '0'), mode, kind, status, needs_review, provider, revision,
            (record::jsonb || jsonb_build_object('reference', 'M' || lpad(n::text, 25, '0'), 'metadata', ${metadata}::text))::json,
            created_at - n * interval '1 second'
          FROM transactions, generate_series(1, ${LISTED}::int) n WHERE reference = ${charged}`
        let pages = 0
        const reading = yield* Effect.forkScoped(
          Effect.forEach(
            Array.from({ length: AT_ONCE }),
            () =>
              Effect.forever(
                Effect.map(noisy.get(`/v1/transactions?limit=${LISTED}`), ({ status }) => {
                  if (status === 200) pages++
                })
              ),
            { concurrency: "unbounded" }
          )
        )
        yield* eventually(
          Effect.sync(() => pages),
          (count) => count > 0
        )
        const meanwhile = <A, E, R>(request: Effect.Effect<A, E, R>) =>
          Effect.suspend(() => {
            const before = pages
            return Effect.map(request, (answer) => [answer, pages - before] as const)
          })
        for (let turn = 0; turn < 3; turn++) {
          const [float, ofFloat] = yield* meanwhile(neighbour.get("/v1/float"))
          const [paid, ofPayout] = yield* meanwhile(neighbour.post("/v1/payouts", momoPayout("1234")))
          expect([float.status, paid.status]).toStrictEqual([200, 201])
          expect(Math.max(ofFloat, ofPayout)).toBeLessThanOrEqual(PAGES_MEANWHILE)
        }
        yield* Fiber.interrupt(reading)
      })
    )
  }
)
