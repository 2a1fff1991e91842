import { Context, Effect, Option, Redacted, References, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { AppId, Reference } from "../../src/domain/Ids.ts"
import { credit } from "../../src/domain/Ledger.ts"
import { minor } from "../../src/domain/Money.ts"
import { defaultCapabilities } from "../../src/domain/Tenant.ts"
import { Corridors } from "../../src/services/ports/Corridors.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { LedgerAudit } from "../../src/services/ports/LedgerAudit.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { WebhookEndpoints } from "../../src/services/ports/WebhookEndpoints.ts"
import type { SignedDelivery } from "../../src/services/ports/WebhookSender.ts"
import { auditEntry } from "../support/GivenDatabase.ts"
import { type Random, seeded } from "../support/Random.ts"
import { type Event, judge, named, type Position, type Told } from "./Judge.ts"
import { type Fate, Node, request } from "./Node.ts"
import { type Hint, hintBody, PAYOUT_FEE, World } from "./World.ts"

export interface Outcome {
  readonly faults: ReadonlyArray<string>
  readonly operations: number
  readonly crashes: number
  readonly movements: number
  readonly reviewed: number
}

const TENANTS = ["one", "two"] as const
const NODES = 2
const CREDIT = 100_000n
const START = 1_795_248_000_000
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** After the last step: past every lease, every window, every late question and the end of the schedule. */
const CALM_PAUSES: ReadonlyArray<number> = [
  2 * MINUTE,
  2 * MINUTE,
  20 * MINUTE,
  20 * MINUTE,
  HOUR,
  HOUR,
  HOUR,
  24 * HOUR,
  24 * HOUR,
  24 * HOUR,
  HOUR
]

/** One run: the same seed and number of steps plays the same story. */
export const simulate = (seed: number, steps: number, database: Effect.Effect<Redacted.Redacted>): Effect.Effect<Outcome> =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* TestClock.setTime(START)
      const story = new Story(seed, yield* database, yield* Effect.scope)
      yield* story.begin
      for (let step = 0; step < steps; step++) yield* story.step
      yield* story.end
      return yield* story.outcome
    })
  ).pipe(Effect.provide(TestClock.layer()), Effect.provideService(References.MinimumLogLevel, "None"))

class Story {
  readonly #random: Random
  readonly #world: World
  readonly #url: Redacted.Redacted
  readonly #scope: Scope.Scope
  readonly #nodes: Array<Node> = []
  readonly #told: Array<Told & { readonly body: Uint8Array }> = []
  readonly #events: Array<Event> = []
  #now = START
  #calm = false
  #crashes = 0
  #reviewed = 0

  constructor(seed: number, url: Redacted.Redacted, scope: Scope.Scope) {
    this.#random = seeded(seed)
    this.#world = new World(this.#random)
    this.#url = url
    this.#scope = scope
  }

  readonly begin = Effect.gen({ self: this }, function* () {
    for (let index = 0; index < NODES; index++) this.#nodes.push(yield* this.#newNode)
    const ports = this.#any().services.ports
    const corridors = Context.get(ports, Corridors)
    for (const row of yield* corridors.list)
      if (row.country === "UG" && row.method === "momo")
        yield* corridors.put(
          { ...row, providers: this.#random.chance(0.5) ? ["alpha", "beta"] : ["beta", "alpha"] },
          auditEntry()
        )
    for (const name of TENANTS) {
      const appId = AppId.make(name)
      const row = { appId, status: "active" as const, capabilities: defaultCapabilities, pinned: null, createdAt: START }
      yield* Context.get(ports, Tenants).create(row, auditEntry())
      const amount = minor(CREDIT)
      const money = { appId, mode: "live", currency: "UGX", direction: "credit", amount, externalId: "float", note: "" } as const
      yield* Context.get(ports, FloatLedger).adjust({ ...money, at: START, entry: credit("UGX", amount), audit: auditEntry() })
      const secret = Redacted.make(`whsec_${Buffer.alloc(32, 1).toString("base64")}`)
      const wish = { appId, mode: "live", url: `https://${name}.example/`, events: everyEvent, enabled: true } as const
      yield* Context.get(ports, WebhookEndpoints).put(wish, secret, null, START, auditEntry())
    }
  })

  readonly step: Effect.Effect<void> = Effect.suspend(() => {
    const dice = this.#random.below(100)
    if (dice < 34) return this.#ask(this.#operation())
    if (dice < 48) return this.#again
    if (dice < 63)
      return this.#pass(this.#random.pick([SECOND, 5 * SECOND, 20 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 3 * HOUR]))
    if (dice < 73) return this.#work((node) => node.services.reconciler.round)
    if (dice < 82) return this.#callbacks
    if (dice < 88) return this.#work((node) => node.services.dispatcher.round)
    if (dice < 93) return this.#crash(this.#any())
    return this.#any().resume.pipe(Effect.andThen(this.#raiseTheDead))
  })

  /** Nothing goes wrong any more: every client comes back, time passes, and a person looks at what only a person can decide. */
  readonly end = Effect.gen({ self: this }, function* () {
    this.#calm = true
    this.#world.calm = true
    for (const node of this.#nodes) while (node.waiting > 0) yield* node.resume
    for (const pause of CALM_PAUSES) {
      for (const one of this.#told.filter(({ settled }) => settled === undefined)) yield* this.#ask(one)
      yield* this.#pass(pause)
      yield* this.#callbacks
      yield* this.#rounds
    }
    yield* this.#person
    yield* this.#rounds
  })

  readonly outcome = Effect.gen({ self: this }, function* () {
    const ports = this.#any().services.ports
    const records = new Map<string, { status: string; needsReview: boolean; returned: boolean }>()
    for (const { reference } of this.#told) {
      const found =
        reference === undefined ? Option.none() : yield* Context.get(ports, Transactions).byReference(Reference.make(reference))
      if (reference === undefined || Option.isNone(found)) continue
      const { transaction } = found.value
      const returned = transaction.kind === "payout" && transaction.returned !== null
      records.set(reference, { status: transaction.status, needsReview: transaction.needsReview, returned })
    }
    const positions = new Map<string, Position>()
    for (const appId of TENANTS) {
      const [own] = yield* Context.get(ports, FloatLedger).positions(AppId.make(appId), "live")
      const { available = 0n, collected = 0n, paidOut = 0n, providerFees: fees = 0n, reserved = 0n } = own ?? {}
      positions.set(appId, { available, reserved, collected, paidOut, fees })
    }
    const report = yield* Context.get(ports, LedgerAudit).verify
    const ledger = report.differences.map((difference) => JSON.stringify(difference))
    const { movements } = this.#world
    const faults = judge({ credit: CREDIT, told: this.#told, movements, events: this.#events, records, positions, ledger })
    return {
      faults,
      operations: this.#told.length,
      crashes: this.#crashes,
      movements: movements.length,
      reviewed: this.#reviewed
    }
  })

  #any(): Node {
    const node = this.#nodes[this.#random.below(NODES)]
    if (node === undefined) throw new Error("no node")
    return node
  }

  /** Between any two effects of a request it may be left waiting or die with its node; of other work it may die. */
  #fate(moment: string): Fate {
    if (this.#calm) return "goes_on"
    if (this.#random.chance(0.03)) return "dies"
    return this.#random.chance(0.03) && !moment.endsWith("deliver") && !moment.endsWith("ask") ? "waits" : "goes_on"
  }

  get #newNode(): Effect.Effect<Node> {
    const providers = [this.#world.provider("alpha"), this.#world.provider("beta")]
    return new Node((moment) => this.#fate(moment)).open(this.#url, providers, (delivery) => this.#receive(delivery), this.#scope)
  }

  #crash(node: Node): Effect.Effect<void> {
    return Effect.andThen(node.kill, this.#raiseTheDead)
  }

  /** A dead process is started again, knowing nothing. */
  get #raiseTheDead(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      for (const [index, node] of this.#nodes.entries()) {
        if (!node.isDead) continue
        this.#crashes++
        this.#nodes[index] = yield* this.#newNode
      }
    })
  }

  #work(work: (node: Node) => Effect.Effect<unknown>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const node = this.#any()
      return Effect.andThen(node.run(work(node)), this.#raiseTheDead)
    })
  }

  get #rounds(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      yield* this.#work((node) => node.services.ingress.round)
      yield* this.#work((node) => node.services.reconciler.round)
      yield* this.#work((node) => node.services.dispatcher.round)
    })
  }

  #pass(ms: number): Effect.Effect<void> {
    this.#now += ms
    return TestClock.setTime(this.#now)
  }

  #operation() {
    const made = this.#told.length
    const appId = this.#random.pick(TENANTS)
    const kind = this.#random.chance(0.6) ? ("payout" as const) : ("collection" as const)
    // Now and then more than the float holds.
    const amount = BigInt(this.#random.chance(0.1) ? 90_000 + this.#random.below(20_000) : 1_000 + this.#random.below(9_000))
    const party = {
      type: "momo",
      msisdn: `25677${1_000_000 + this.#random.below(kind === "collection" ? 4 : 100_000)}`,
      network: "MTN",
      country: "UG"
    }
    const terms = { amount_minor: Number(amount), currency: "UGX", country: "UG", method: "momo" }
    const text = JSON.stringify(kind === "payout" ? { ...terms, destination: party } : { ...terms, source: party })
    const told = {
      appId,
      kind,
      amount,
      key: `k${made}`,
      answers: [],
      reference: undefined,
      settled: undefined,
      body: Buffer.from(text)
    }
    this.#told.push(told)
    return told
  }

  get #again(): Effect.Effect<void> {
    const [first, ...others] = this.#told
    return first === undefined ? Effect.void : this.#ask(this.#random.pick([first, ...others]))
  }

  /** The client hears the answer, or nothing at all. */
  #ask(operation: Told & { readonly body: Uint8Array }): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { appId, body, key, kind } = operation
      const caller = { appId: AppId.make(appId), keyId: "k", mode: "live", role: "tenant" } as const
      const node = this.#any()
      const answer = yield* node.run(request(node.services, { body, caller, rawHeaders: ["Idempotency-Key", key] }, kind))
      if (Option.isSome(answer)) hear(operation, answer.value)
      yield* this.#raiseTheDead
    })
  }

  get #callbacks(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      for (const hint of this.#world.dueHints(this.#now)) yield* this.#bring(hint)
      yield* this.#work((node) => node.services.ingress.round)
    })
  }

  #bring(hint: Hint): Effect.Effect<void> {
    const callback = { headers: {}, body: hintBody(hint), method: "POST", authority: "gateway", path: "/" } as const
    return this.#work((node) => Effect.exit(node.services.ingress.receive(hint.provider, "route", callback)))
  }

  /** The tenant's endpoint: it takes what it hears, and sometimes says that it did not. */
  #receive({ body, headers }: SignedDelivery) {
    return Effect.sync(() => {
      const refuses = !this.#calm && this.#random.chance(0.2)
      const { data, type }: { data: { reference: string; version: number; status: string }; type: string } = JSON.parse(body)
      const id = headers["webhook-id"] ?? ""
      if (!refuses || this.#random.chance(0.5))
        this.#events.push({ id, type, body, reference: data.reference, version: data.version, status: data.status })
      return { status: refuses ? 500 : 204, excerpt: "", retryAfter: null }
    })
  }

  /** Somebody with the provider's statement in hand. */
  get #person(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { review } = this.#any().services
      for (const { record } of yield* review.cases(1000)) {
        this.#reviewed++
        const moved = this.#world.movements.find((one) => one.reference === record.reference && one.outcome === "successful")
        const evidence = "the provider's statement"
        const ruling =
          moved === undefined
            ? { outcome: "failed" as const, amount: null, fee: null, evidence }
            : {
                outcome: "successful" as const,
                amount: minor(moved.amount),
                fee: minor(moved.fee < PAYOUT_FEE || record.kind !== "payout" ? moved.fee : PAYOUT_FEE),
                evidence
              }
        yield* Effect.orDie(review.resolve(record.reference, ruling, auditEntry()))
      }
    })
  }
}

const everyEvent = [
  "collection.successful",
  "collection.failed",
  "collection.expired",
  "payout.successful",
  "payout.failed",
  "payout.returned"
] as const

const hear = (operation: Told, answer: Told["answers"][number]): void => {
  operation.answers.push(answer)
  const reference = named(answer.body)
  operation.reference ??= reference
  const { error }: { error?: { terminal: boolean; ambiguous: boolean } } = JSON.parse(answer.body)
  if (answer.status === 201) operation.settled = "accepted"
  else if (error?.terminal === true) operation.settled = "refused"
  // Recorded, and its outcome is told by webhook.
  else if (error?.ambiguous === true && reference !== undefined) operation.settled = "accepted"
}
