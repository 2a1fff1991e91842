import { Effect } from "effect"
import { Capability } from "../../src/domain/Tenant.ts"
import type { Example } from "../../src/http/description/OpenApiOperations.ts"
import { isTree } from "../../src/http/description/OpenApiSchemas.ts"
import { matchRoute } from "../../src/http/edge/HttpRoutes.ts"
import { demandCodes, pinIdOf, RIGHT } from "./OtpRequests.ts"
import { type Answer, referenceOf } from "./SignedClient.ts"
import { creditOn, type Gateway, tenantOn } from "./Stack.ts"

const payer = { type: "momo", msisdn: "256772001234", network: "MTN" }
const other = { ...payer, msisdn: "256772001235" }
const third = { ...payer, msisdn: "256772001236" }
const charge = { amount_minor: 20_000, currency: "UGX", country: "UG", method: "momo", source: payer, metadata: { order: "A-1" } }
const destination = { type: "momo", msisdn: "256772009876", network: "MTN", country: "UG" }
const terms = { amount_minor: 10_000, currency: "UGX", country: "UG", method: "momo" }
const account = { country: "UG", bank_code: "01", account_number: "9030001234567" }
const settled = ({ status }: Record<string, unknown>) => status === "successful"

/** Does what the examples show, one request of each kind in a sensible order, and answers what was sent and said. */
export const executeExamples = Effect.fnUntraced(function* (gateway: Gateway) {
  const tenant = yield* tenantOn(gateway, 1_000_000n, { capabilities: Capability.literals })
  yield* creditOn(gateway, tenant, 100_000n, "KES")
  const done = new Map<string, Example>()
  const step = Effect.fnUntraced(function* (method: string, target: string, request?: unknown, headers = {}) {
    const keyed = method === "POST" ? { "idempotency-key": `example-${done.size}` } : {}
    const answer = yield* tenant.call(method, target, request, { ...keyed, ...headers })
    const match = matchRoute(method, target.split("?")[0] ?? "")
    const operation = match._tag === "Found" ? `${method} ${match.route.template}` : target
    if (answer.status < 400 || operation === "POST /v1/refunds")
      done.set(operation, request === undefined ? { answer: short(answer) } : { request, answer: short(answer) })
    return answer
  })
  const idOf = ({ body }: Answer): string => body.data["id"] ?? ""

  const collection = referenceOf(yield* step("POST", "/v1/collections", charge))
  yield* tenant.until(`/v1/collections/${collection}`, settled)
  yield* step("GET", `/v1/collections/${collection}`)
  yield* step("POST", "/v1/payouts/quote", { ...terms, deduct_fee_from_amount: true })
  yield* step("POST", "/v1/payouts/quotes", {
    items: [
      { ...terms, destination },
      { ...terms, amount_minor: 100, destination }
    ]
  })
  const payout = referenceOf(yield* step("POST", "/v1/payouts", { ...terms, destination, narration: "Refund of A-1" }))
  yield* tenant.until(`/v1/payouts/${payout}`, settled)
  yield* step("GET", `/v1/payouts/${payout}`)
  yield* step("GET", `/v1/transactions/${payout}`)
  yield* step("GET", "/v1/transactions?status=successful&metadata.order=A-1&limit=1")
  yield* step("POST", "/v1/transactions/search", { msisdn: "+256 772 001 234", limit: 1 })
  yield* step("POST", "/v1/refunds", { original_reference: collection, reason: "Not delivered" })
  yield* step("PUT", "/v1/float/alerts", { currency: "UGX", below_minor: 100_000 })
  for (const read of [
    "float",
    "float/alerts",
    "float/entries?currency=UGX&limit=1",
    "balances",
    "capabilities",
    "limits",
    "reference/corridors",
    "reference/countries",
    "reference/banks/UG",
    "reference/banks/UG/01/branches"
  ])
    yield* step("GET", `/v1/${read}`)
  yield* step("POST", "/v1/reference/resolve-bank-account", account)

  const quote = yield* step("POST", "/v1/fx/quote", {
    source_currency: "UGX",
    destination_currency: "KES",
    source_amount_minor: 100_000
  })
  const exchange = referenceOf(yield* step("POST", "/v1/fx/exchange", { quote_id: quote.body.data["quote_id"] }))
  yield* tenant.until(`/v1/fx/exchanges/${exchange}`, settled)
  yield* step("GET", `/v1/fx/exchanges/${exchange}`)
  yield* step("GET", "/v1/fx/exchanges")

  const [saved] = Object.values(yield* itemsOf(step("GET", "/v1/beneficiaries")))
  yield* step("GET", `/v1/beneficiaries/${saved}`)
  yield* step("DELETE", "/v1/beneficiaries", undefined, { "x-confirm-purge": tenant.appId })

  yield* step("GET", "/v1/events?type=payout.pending&limit=1")
  yield* step("PUT", "/v1/webhooks/endpoint", { url: "https://hooks.shop.example/gateway", events: ["payout.successful"] })
  yield* step("GET", "/v1/webhooks/endpoint")
  const delivery = idOf(yield* step("POST", "/v1/webhooks/endpoint/test"))
  yield* step("GET", "/v1/webhooks/deliveries")
  yield* step("POST", `/v1/webhooks/deliveries/${delivery}/redeliver`)
  yield* step("POST", "/v1/webhooks/recover", { since: new Date(Date.now() - 60_000).toISOString() })
  yield* step("POST", "/v1/webhooks/endpoint/rotate-secret")
  yield* step("DELETE", "/v1/webhooks/endpoint")
  yield* step("PUT", "/v1/webhooks/endpoints/erp", { url: "https://erp.shop.example/gateway", events: ["payout.failed"] })
  yield* step("GET", "/v1/webhooks/endpoints")
  yield* step("GET", "/v1/webhooks/endpoints/erp")
  yield* step("POST", "/v1/webhooks/endpoints/erp/test")
  yield* step("POST", "/v1/webhooks/endpoints/erp/rotate-secret")
  yield* step("DELETE", "/v1/webhooks/endpoints/erp")

  yield* demandCodes(gateway, "UG")
  yield* step("POST", "/v1/collections/otp", { country: "UG", source: third })
  const waiting = yield* tenant.post("/v1/collections", { ...charge, source: other })
  yield* step("POST", `/v1/collections/${referenceOf(waiting)}/authorize`, {
    authorization: { type: "otp", otp: { pin_id: pinIdOf(waiting), pin: RIGHT } },
    source: other
  })
  yield* step("GET", "/health")
  yield* step("GET", "/health/detail")
  return Object.fromEntries([...done].sort(([a], [b]) => (a < b ? -1 : 1)))
})

const itemsOf = (answer: Effect.Effect<Answer>) =>
  Effect.map(answer, ({ text }): ReadonlyArray<string> => {
    const items: ReadonlyArray<{ readonly id: string }> = JSON.parse(text).data.items
    return items.map(({ id }) => id)
  })

/** Of a list only its first row is shown. */
const short = ({ text }: Answer): unknown => shortened(JSON.parse(text))
const shortened = (node: unknown): unknown =>
  Array.isArray(node)
    ? node.slice(0, node.some(isTree) ? 1 : node.length).map(shortened)
    : isTree(node)
      ? Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, shortened(inner)]))
      : node

/** What differs from one run to the next: names that were made, moments, and how far things had come. */
const VOLATILE =
  /^(id|recipient|app_id|timestamp|reference|original_reference|event_id|pin_id|quote_id|secret|since|external_id|next_cursor|version|attempts|as_of|uptime_seconds|at|\w+_at|\w+_until|resume_since|failing_since|message)$/

/** The same with everything that differs from run to run taken out. */
export const lasting = (node: unknown): unknown =>
  Array.isArray(node)
    ? node.map(lasting)
    : isTree(node)
      ? Object.fromEntries(Object.entries(node).flatMap(([name, inner]) => (VOLATILE.test(name) ? [] : [[name, lasting(inner)]])))
      : node
