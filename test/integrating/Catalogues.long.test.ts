import { Context, Effect, Layer, Logger, ManagedRuntime } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { defaultSubscription, EventType } from "../../src/domain/Event.ts"
import type { Fact } from "../../src/domain/Fact.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { Review } from "../../src/services/settlement/Review.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { Ending } from "../../src/simulator/Endings.ts"
import { examples, read } from "../documents/Pages.ts"
import { lasting } from "../support/ExecutedExamples.ts"
import { momoCharge, momoPayout } from "../support/RequestBodies.ts"
import { eventually, referenceOf } from "../support/SignedClient.ts"
import { adjustOn, Stack, tenantOn, webhooksOf } from "../support/Stack.ts"
import { auditEntry } from "../support/TestDatabase.ts"

const page = read("docs/integrating/webhooks.md")
const runtime = ManagedRuntime.make(
  // A charge that nobody executed expires while the test looks, and well after the answer to it.
  Layer.provideMerge(Stack.layer({ COLLECTION_EXPIRY: "9s", PROVIDER_TIMEOUT_MS: "4000" }, { delayMs: 200 }), Logger.layer([]))
)
afterAll(() => runtime.dispose())

/** On a machine that has much else to do. */
const LONG_MS = 240_000

interface EventBody {
  readonly type: string
  readonly data: { readonly masked_source?: string; readonly masked_destination?: string }
}

/** Whose event stands for its type, where several have one. */
const numbers: Readonly<Record<string, string>> = {
  // Nothing overtakes the answer to it.
  "collection.updated": "0010",
  "collection.pending": "1234",
  "payout.pending": "0015",
  "payout.successful": "0015"
}
const isWanted = ({ data, type }: EventBody): boolean =>
  `${data.masked_source ?? data.masked_destination}`.endsWith(numbers[type] ?? "")

const news = { providerReference: null, currency: "UGX", note: "status successful" } as const
const takenBack: Fact = { ...news, _tag: "Returned", amount: minor(20_000n), fee: minor(0n), charged: null, at: 0 }

/** What only a person's ruling tells: of a charge that was taken back, and of a charge and a payout that moved less than they said. */
const ruledOn = Effect.fnUntraced(function* (tenant: Effect.Success<ReturnType<typeof tenantOn>>, exchanged: string) {
  const { context } = (yield* Stack).gateway
  const rule = Effect.fnUntraced(
    function* (target: string, body: object, fact: Fact, outcome: "successful" | "failed") {
      const reference = Reference.make(referenceOf(yield* tenant.post(target, body)))
      yield* tenant.until(`${target}/${reference}`, ({ status }) => status === "successful")
      yield* Context.get(context, Settlement).apply({ reference, fact, actor: "callback" })
      const amount = fact._tag === "Succeeded" ? fact.amount : null
      yield* (yield* Review).resolve(reference, { outcome, amount, fee: null, evidence: "statement" }, auditEntry())
    },
    Effect.provide(Layer.provide(Review.layer, Layer.succeedContext(context)))
  )
  const less = (amount: bigint, fee: bigint): Fact => ({ ...news, _tag: "Succeeded", amount: minor(amount), fee: minor(fee) })
  yield* rule("/v1/collections", momoCharge("4321", { metadata: { order: "A-8" } }), takenBack, "failed")
  yield* rule("/v1/collections", momoCharge("4322", { metadata: { order: "A-8" } }), less(19_000n, 285n), "successful")
  yield* rule("/v1/payouts", momoPayout("4323", { metadata: { order: "A-7" } }), less(9_000n, 900n), "successful")
  yield* Context.get(context, Settlement).apply({ reference: Reference.make(exchanged), fact: takenBack, actor: "callback" })
})

/** Does what every event type tells of, and answers the first event of each. */
const everyEvent = Effect.gen(function* () {
  const { gateway, simulator } = yield* Stack
  const tenant = yield* tenantOn(gateway, 1_000_000n)
  const { received } = yield* webhooksOf(gateway, tenant, EventType.literals)
  const ghana = { currency: "GHS", country: "GH", amount_minor: 2_000, redirect_url: "https://shop.example/done" }
  const exchange = Effect.fnUntraced(function* (ending: string) {
    const next = { provider: "eversend", operation: "exchange", ending }
    yield* Effect.promise(() => simulator.control("POST", "/next", next))
    const asked = { source_currency: "UGX", destination_currency: "KES", source_amount_minor: 50_000 }
    const quote = yield* tenant.call("POST", "/v1/fx/quote", asked)
    return yield* tenant.post("/v1/fx/exchange", { quote_id: quote.body.data["quote_id"], metadata: { order: "A-9" } })
  })
  const metadata = { order: "A-7" }
  // A currency in which nothing else happens.
  for (const [direction, externalId, amount] of [
    ["credit", "bank-17", 250_000n],
    ["debit", "bank-18", 50_000n]
  ] as const)
    yield* adjustOn(gateway, tenant, { direction, amount, externalId, currency: "RWF" })
  yield* tenant.call("PUT", "/v1/float/alerts", { currency: "RWF", below_minor: 240_000 })
  yield* Effect.all(
    [
      tenant.post("/v1/collections", {
        ...ghana,
        method: "momo",
        source: { type: "momo", msisdn: "233241234567", network: "MTN" },
        metadata: { order: "A-8" }
      }),
      ...["1234", "0002", "0007", "0010"].map((ending) =>
        tenant.post("/v1/collections", momoCharge(ending, { metadata: { order: "A-8" } }))
      ),
      ...["0002", "0015"].map((ending) => tenant.post("/v1/payouts", momoPayout(ending, { metadata }))),
      exchange("0001"),
      tenant.call("POST", "/v1/webhooks/endpoint/test")
    ],
    { concurrency: "unbounded" }
  )
  const exchanged = referenceOf(yield* exchange("ordinary"))
  yield* ruledOn(tenant, exchanged)
  const first = () => {
    const events = received.map(({ body }): EventBody => JSON.parse(body)).filter(isWanted)
    return new Map(events.toReversed().map((event) => [event.type, event]))
  }
  yield* eventually(
    Effect.sync(() => EventType.literals.filter((type) => !first().has(type))),
    (missing) => missing.length === 0
  )
  return first()
})

/** What the provider said it charges is known only if its answer came before the event. */
const changing: ReadonlySet<string> = new Set([
  "app_id",
  "timestamp",
  "redirect_url",
  "observed_amount_minor",
  "observed_currency"
])

/** As the page shows an event: in lines that fit. */
const wrapped = (event: unknown): string => {
  const lines = [""]
  for (const part of JSON.stringify(event).match(/(?:"(?:[^"\\]|\\.)*"|[^",])+,?/g) ?? []) {
    const last = lines.at(-1) ?? ""
    if (last.length + part.length > 118) lines.push(` ${part}`)
    else lines[lines.length - 1] = last + part
  }
  return lines.join("\n")
}

const ROW = /^\| (?:`(\d{4})`|other) \| [^|]+ \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm

const endings = [...read("docs/integrating/testing.md").matchAll(ROW)].flatMap(
  ([, number = "4321", payout = "", payoutEnds = "", collection = "", collectionEnds = ""]) => [
    { target: "/v1/payouts", number, body: momoPayout(number), answer: payout, ends: payoutEnds },
    { target: "/v1/collections", number, body: momoCharge(number), answer: collection, ends: collectionEnds }
  ]
)

/** What a record has to say before its row of the table is true. */
const hasEnded = (ends: string, record: Readonly<Record<string, unknown>>): boolean => {
  if (ends === "open") return record["status"] === "pending"
  if (ends === "review") return record["needs_review"] === true
  if (ends.includes("late success") !== (record["late_success"] === true)) return false
  return ends.startsWith(`\`${record["status"]}\``) && ends.includes("returned") === Boolean(record["returned"])
}

/** What each payment is answered, once its record has come to the end that the page names. */
const played = Effect.gen(function* () {
  const tenant = yield* tenantOn((yield* Stack).gateway, 1_000_000n)
  const created = yield* Effect.forEach(
    endings,
    (ending) => Effect.map(tenant.post(ending.target, ending.body), (answer) => ({ ...ending, created: answer })),
    { concurrency: 4 }
  )
  // One after another: only the first ones have to be waited for.
  return yield* Effect.forEach(
    created,
    Effect.fnUntraced(function* ({ answer, created, ends, number, target }) {
      // An accepted payment can have ended before its answer was written, and a callback can overtake a broken answer.
      const said = `${created.body.error?.["code"] ?? "pending"}`
      const overtaken = said === "pending" && ends === "`successful`"
      const hasFailedMeanwhile = answer === "`pending`" && ends === "`failed`" && said.endsWith("_rejected_by_provider")
      const isLate = answer.endsWith(", late") && said === "provider_timeout"
      yield* tenant.until(`${target}/${referenceOf(created)}`, (record) => hasEnded(ends, record))
      return { target, number, answer: isLate || overtaken || hasFailedMeanwhile ? answer : `\`${said}\`` }
    })
  )
})

describe.concurrent("the table of endings in docs/integrating/testing.md", () => {
  it(
    "says what each number is answered, and how it ends",
    async () => {
      expect(endings.map(({ number }) => number).filter((_, at) => at % 2 === 0)).toEqual(["4321", ...Ending.literals.slice(1)])
      const seen = await runtime.runPromise(played)
      expect(seen).toEqual(endings.map(({ answer, number, target }) => ({ target, number, answer })))
    },
    LONG_MS
  )
})

describe.concurrent("the catalogue of events in docs/integrating/webhooks.md", () => {
  const shown = examples(page, "json").map((text): EventBody => JSON.parse(text))

  it("has an example of each type, and marks those that come without asking", () => {
    expect(shown.map(({ type }) => type)).toEqual(EventType.literals)
    const rows = [...page.matchAll(/^\| \[`([\w.]+)`\]\(#\w+\) \| ([\w ]+) \|/gm)].map(([, type, asked]) => [type, asked])
    const usual: ReadonlySet<string> = new Set(defaultSubscription)
    expect(rows).toEqual(
      EventType.literals.map((type) => [type, type === "webhook.test" ? "when you ask" : usual.has(type) ? "yes" : "no"])
    )
  })

  it(
    "shows what is really sent",
    async () => {
      const sent = await runtime.runPromise(Effect.scoped(everyEvent))
      if (process.env["SHOW_EVENTS"] !== undefined)
        console.log(
          EventType.literals.map((type) => `### \`${type}\`\n\n\`\`\`json\n${wrapped(sent.get(type))}\n\`\`\`\n`).join("\n")
        )
      const own = (event: unknown) =>
        JSON.parse(JSON.stringify(lasting(event)), (name, value) => (changing.has(name) ? "…" : value))
      expect(EventType.literals.map((type) => own(sent.get(type)))).toEqual(shown.map(own))
    },
    LONG_MS
  )
})
