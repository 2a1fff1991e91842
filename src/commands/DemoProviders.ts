import { Effect, Schema } from "effect"
import { CommandRefusal } from "./CommandRefusal.ts"
import { until } from "./DataFolder.ts"
import { KeyFile } from "./signing/SignedHeaders.ts"

/** Where a provider sends no callback, the poller finds the outcome; its third poll comes before this. */
const SETTLED_WITHIN_MS = 120_000
/** Every node applies a changed row within a second. */
const ROUTED_WITHIN_MS = 10_000

/** From this number on, the simulator has no scripted outcome for a number. */
const FIRST_NUMBER = 2_001

const Opened = Schema.Struct({
  reference: Schema.String,
  provider: Schema.String,
  next_action: Schema.optionalKey(
    Schema.NullOr(Schema.Struct({ type: Schema.String, redirect_url: Schema.optionalKey(Schema.String) }))
  )
})
const Standing = Schema.Struct({ status: Schema.String })
const Row = Schema.Struct({ provider: Schema.String, active: Schema.Boolean })
const decodeData = <A>(data: Schema.ConstraintDecoder<A>) =>
  Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ data })))
const decodeKey = Schema.decodeUnknownEffect(Schema.fromJsonString(KeyFile))
const decodeExecutions = Schema.decodeUnknownEffect(
  Schema.fromJsonString(Schema.Array(Schema.Struct({ provider: Schema.String, direction: Schema.String })))
)

type Client = (
  method: "GET" | "POST",
  path: string,
  body?: object,
  idempotencyKey?: string
) => Effect.Effect<string, CommandRefusal>

interface Stack {
  readonly command: (...args: ReadonlyArray<string>) => Effect.Effect<string, CommandRefusal>
  readonly clientOf: (key: KeyFile) => Client
  readonly fetchText: (url: string) => Effect.Effect<string, CommandRefusal>
  readonly simulatorUrl: string
  readonly step: (name: string, result: string) => Effect.Effect<void>
}

/** Makes a charge and a payout at each simulated provider, in its demo corridor; each has to be executed exactly once. */
export const playEveryProvider = Effect.fn("playEveryProvider")(function* ({
  clientOf,
  command,
  fetchText,
  simulatorUrl,
  step
}: Stack) {
  const { knownSimulators } = yield* Effect.promise(() => import("../simulator/Registry.ts"))
  yield* command("tenant", "create", "market")
  const client = clientOf(yield* Effect.flatMap(command("key", "issue", "market", "--mode", "live"), decodeKey))
  const credit = ["float", "credit", "market", "--mode", "live", "--amount-minor", "200000", "--note", "opening float"]
  for (const currency of new Set(knownSimulators.map(({ trial }) => trial.currency)))
    yield* command(...credit, "--currency", currency, "--external-id", `market-${currency}`)

  const begun = yield* Effect.forEach(
    knownSimulators,
    Effect.fnUntraced(function* ({ name, trial: { country, currency, network, prefix, redirects = false } }, index) {
      for (const direction of ["collection", "payout"]) {
        const page = redirects && direction === "collection" ? ["--customer-action", "redirect"] : []
        yield* command("corridor", "set", country, currency, direction, "momo", "--active", "true", "--provider", name, ...page)
      }
      const rows = client("GET", `/v1/reference/corridors?country=${country}&method=momo`)
      const isRouted = Effect.map(Effect.flatMap(rows, decodeData(Schema.Array(Row))), ({ data }) =>
        data.every(({ active, provider }) => active && provider === name)
      )
      yield* untilTrue(isRouted, ROUTED_WITHIN_MS)
      // Each has its own payer, because the double-charge guard refuses a second charge of one number within minutes.
      const party = { type: "momo", msisdn: `${prefix}${FIRST_NUMBER + index}`, network, country }
      const common = { currency, country, method: "momo" }
      const charge = { ...common, amount_minor: 20_000, source: party, redirect_url: "https://shop.example/back" }
      const charged = yield* placed(client("POST", "/v1/collections", charge, `charge-${name}`))
      const page = charged.next_action?.redirect_url
      if (page !== undefined) yield* fetchText(page)
      const payout = { ...common, amount_minor: 10_000, destination: party }
      const paid = yield* placed(client("POST", "/v1/payouts", payout, `payout-${name}`))
      return { name, country, charged, paid }
    })
  )

  for (const { charged, country, name, paid } of begun) {
    for (const { provider, reference } of [charged, paid]) {
      if (provider !== name) return yield* new CommandRefusal(`${name} was to be shown, and ${provider} was used`)
      const record = Effect.flatMap(client("GET", `/v1/transactions/${reference}`), decodeData(Standing))
      yield* untilTrue(
        Effect.map(record, ({ data }) => data.status === "successful"),
        SETTLED_WITHIN_MS
      )
      const { data } = yield* record
      if (data.status !== "successful")
        return yield* new CommandRefusal(`${reference} at ${name} is ${data.status} after ${SETTLED_WITHIN_MS / 1000} s`)
    }
    const executed = yield* Effect.forEach([charged, paid], ({ reference }) =>
      Effect.flatMap(fetchText(`${simulatorUrl}/__simulator/executions?reference=${reference}`), decodeExecutions)
    )
    const moved = executed.flat().map(({ direction, provider }) => `${provider} ${direction}`)
    if (moved.join() !== `${name} collection,${name} payout`)
      return yield* new CommandRefusal(`${name} executed ${moved.join(", ") || "nothing"}`)
    yield* step(`A payer is charged and a recipient paid in ${country} by ${name}, once each`, moved.join(", "))
  }
})

const placed = (answer: Effect.Effect<string, CommandRefusal>) =>
  Effect.map(Effect.flatMap(answer, decodeData(Opened)), ({ data }) => data)

/** A check that fails is repeated. */
const untilTrue = <E>(isTrue: Effect.Effect<boolean, E>, withinMs: number) =>
  until(Effect.match(isTrue, { onFailure: () => false, onSuccess: (held) => held }), withinMs)
