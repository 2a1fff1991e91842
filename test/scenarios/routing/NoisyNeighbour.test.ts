import { expect, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf, said } from "../../support/SignedClient.ts"
import { asOwner, Stack, tenantOn } from "../../support/Stack.ts"

const FAILURES = 5
const settings = { CIRCUIT_FAILURES: String(FAILURES), CIRCUIT_OPEN: "60s", RECONCILER_SCHEDULE: "1h" }
const numbers = (ending: string, first: number) =>
  Array.from({ length: FAILURES + 1 }, (_, index) => `2567721${first + index}${ending}`)

const unheard = Array.from({ length: FAILURES }, () => ({ code: "provider_unavailable" }))

layer(Stack.layer(settings), { excludeTestServices: true })("a tenant whose numbers make the provider fail", (it) => {
  it.effect("has only its own payouts held back, and no other tenant's", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const [noisy, neighbour] = [yield* tenantOn(gateway, 1_000_000n), yield* tenantOn(gateway)]
      const to = (msisdn: string) => momoPayout("", { destination: { type: "momo", msisdn, network: "MTN", country: "UG" } })
      const answers = yield* Effect.forEach(numbers("0005", 2), (msisdn) => noisy.post("/v1/payouts", to(msisdn)))
      expect(answers.slice(0, FAILURES).map(({ status }) => status)).toStrictEqual(Array(FAILURES).fill(503))
      expect(answers.slice(0, FAILURES).map((answer) => said(answer))).toMatchObject(unheard)
      // Its own are refused before anything is reserved, with good numbers as well.
      expect(answers.at(-1)).toMatchObject({ status: 503, body: { error: { code: "provider_error" } } })
      expect(said(yield* noisy.post("/v1/payouts", momoPayout("1234")))).toMatchObject({ code: "provider_error" })
      expect((yield* neighbour.post("/v1/payouts", momoPayout("1234"))).status).toBe(201)
    })
  )

  it.effect("has only its own charges held back, and no other tenant's", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const [noisy, neighbour] = [yield* tenantOn(gateway, 0n), yield* tenantOn(gateway, 0n)]
      const from = (msisdn: string) => momoCharge("", { source: { type: "momo", msisdn, network: "MTN" } })
      const answers = yield* Effect.forEach(numbers("0005", 2), (msisdn) => noisy.post("/v1/collections", from(msisdn)))
      expect(answers.map((answer) => said(answer))).toMatchObject([...unheard, { code: "provider_error" }])
      expect((yield* neighbour.post("/v1/collections", momoCharge("1234"))).status).toBe(201)
    })
  )

  it.effect("has only its own account look-ups held back, and no other tenant's", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const [noisy, neighbour] = [yield* tenantOn(gateway, 0n), yield* tenantOn(gateway, 0n)]
      const account = (ending: string) => ({ country: "UG", bank_code: "01", account_number: `90300012${ending}` })
      const resolve = (tenant: typeof noisy, ending: string) =>
        tenant.call("POST", "/v1/reference/resolve-bank-account", account(ending))
      yield* Effect.forEach(Array.from({ length: FAILURES + 1 }), () => resolve(noisy, "0017"))
      expect(said(yield* resolve(noisy, "1234"))).toMatchObject({ code: "provider_error" })
      expect((yield* resolve(neighbour, "1234")).status).toBe(200)
    })
  )
})

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
