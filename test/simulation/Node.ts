import { Context, Deferred, Effect, Layer, Option, type Redacted, Scope } from "effect"
import { HttpServerResponse } from "effect/http"
import { collectionBody } from "../../src/http/CollectionBody.ts"
import { Idempotent } from "../../src/http/Idempotent.ts"
import { payoutBody } from "../../src/http/PayoutBody.ts"
import { Signed } from "../../src/http/SignedRequest.ts"
import { Logs } from "../../src/observability/Logs.ts"
import { Ports } from "../../src/Ports.ts"
import { RateLimitsMemory } from "../../src/persistence/RateLimitsMemory.ts"
import { servicesOn } from "../../src/Services.ts"
import { Collections } from "../../src/services/Collections.ts"
import { Ingress } from "../../src/services/Ingress.ts"
import { Payouts } from "../../src/services/Payouts.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import type { Provider } from "../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { WebhookSender } from "../../src/services/ports/WebhookSender.ts"
import { Reconciler } from "../../src/services/Reconciler.ts"
import { Review } from "../../src/services/Review.ts"
import { WebhookDispatcher } from "../../src/services/WebhookDispatcher.ts"
import { masterKey } from "../support/GivenDatabase.ts"
import { policy } from "../support/GivenMoney.ts"

/** What happens at the moment between two effects: the node goes on, waits while others do something, or dies. */
export type Fate = "goes_on" | "waits" | "dies"

/** Asked at every such moment, with the effect's name and whether it is about to happen or has happened. */
export type Gate = (moment: string) => Fate

type Layers = Effect.Success<ReturnType<typeof open>>

/** Work that a node has begun. */
interface Task {
  readonly ended: Deferred.Deferred<void>
  /** Told when it waits at a gate. */
  paused: Deferred.Deferred<void>
}

/** One gateway process: the production services on a real database and the simulated outside. */
export class Node {
  readonly #gate: Gate
  readonly #died = Deferred.makeUnsafe<void>()
  readonly #waiting: Array<{ readonly task: Task; readonly resume: Deferred.Deferred<void> }> = []
  #dead = false
  #current: Task | undefined
  #layers: Layers | undefined

  constructor(gate: Gate) {
    this.#gate = gate
  }

  /** Builds its services; `database` lives as long as the simulation, so that what a dead process left behind is not waited for. */
  open(
    url: Redacted.Redacted,
    providers: ReadonlyArray<Provider>,
    post: WebhookSender["Service"]["post"],
    database: Scope.Scope
  ): Effect.Effect<this> {
    return Effect.map(Effect.orDie(open({ url, providers, post, database, between: this.#between })), (layers) => {
      this.#layers = layers
      return this
    })
  }

  get services(): Layers {
    if (this.#layers === undefined) throw new Error("the node is not open")
    return this.#layers
  }

  get isDead(): boolean {
    return this.#dead
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** As `kill -9` does: nothing of it takes another step. */
  readonly kill: Effect.Effect<void> = Effect.suspend(() => {
    this.#dead = true
    this.#waiting.length = 0
    return Effect.asVoid(Deferred.succeed(this.#died, undefined))
  })

  /** Runs work until it is done, waits at a gate, or dies with its node; only in the first case there is an answer. */
  run<A>(work: Effect.Effect<A>): Effect.Effect<Option.Option<A>> {
    return Effect.suspend(() => {
      const task: Task = { ended: Deferred.makeUnsafe<void>(), paused: Deferred.makeUnsafe<void>() }
      const answer: Array<A> = []
      const begun = work.pipe(
        Effect.tap((value) => Effect.sync(() => answer.push(value))),
        Effect.ensuring(Deferred.succeed(task.ended, undefined))
      )
      this.#current = task
      // Nobody interrupts it: what waits goes on later, and what died stays where it was.
      return Effect.forkDetach(begun).pipe(
        Effect.andThen(this.#until(task)),
        Effect.map(() => Option.fromUndefinedOr(answer[0]))
      )
    })
  }

  /** Lets the work that waits longest go on, until it is done, waits again or dies. Its client has long gone. */
  readonly resume: Effect.Effect<void> = Effect.suspend(() => {
    const next = this.#waiting.shift()
    if (next === undefined) return Effect.void
    next.task.paused = Deferred.makeUnsafe<void>()
    this.#current = next.task
    return Effect.andThen(Deferred.succeed(next.resume, undefined), this.#until(next.task))
  })

  #until({ ended, paused }: Task): Effect.Effect<void> {
    return Effect.raceAllFirst([Deferred.await(ended), Deferred.await(paused), Deferred.await(this.#died)])
  }

  readonly #between: Between = (moment, effect) =>
    this.#pass(`before ${moment}`).pipe(
      Effect.andThen(effect),
      Effect.flatMap((answer) => Effect.as(this.#pass(`after ${moment}`), answer))
    )

  #pass(moment: string): Effect.Effect<void> {
    return Effect.suspend((): Effect.Effect<void> => {
      if (this.#dead) return Effect.never
      const fate = this.#gate(moment)
      const task = this.#current
      if (fate === "goes_on" || task === undefined) return Effect.void
      if (fate === "dies") return Effect.andThen(this.kill, Effect.never)
      const resume = Deferred.makeUnsafe<void>()
      this.#waiting.push({ task, resume })
      return Deferred.succeed(task.paused, undefined).pipe(
        Effect.andThen(Deferred.await(resume)),
        Effect.andThen(Effect.suspend(() => (this.#dead ? Effect.never : Effect.void)))
      )
    })
  }
}

type Between = <A, E, R>(moment: string, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

interface Parts {
  readonly url: Redacted.Redacted
  readonly providers: ReadonlyArray<Provider>
  readonly post: WebhookSender["Service"]["post"]
  readonly database: Scope.Scope
  readonly between: Between
}

const open = Effect.fnUntraced(function* ({ between, database, post, providers, url }: Parts) {
  const ports = Layer.fresh(Ports.layer({ databaseUrl: url, masterKey, policy }))
  const ready = yield* Layer.buildWithScope(ports, database)
  const gated = Layer.succeedContext(gatedPorts(ready, between))
  const foundations = {
    providers: Layer.succeed(ProviderRegistry, registryOf(providers, between)),
    ports: gated,
    limits: RateLimitsMemory,
    sender: Layer.succeed(WebhookSender, { post: (delivery) => between("deliver", post(delivery)) })
  }
  // Never closed: what a dead node has begun neither ends nor is waited for.
  const life = yield* Scope.make()
  const context = yield* Layer.buildWithScope(
    Layer.mergeAll(Idempotent.layer, Review.layer).pipe(
      Layer.provideMerge(servicesOn(foundations)),
      Layer.provideMerge(Logs.layer({ format: "json", level: "None" })),
      Layer.fresh
    ),
    life
  )
  return {
    ports: ready,
    idempotent: Context.get(context, Idempotent),
    payouts: Context.get(context, Payouts),
    collections: Context.get(context, Collections),
    reconciler: Context.get(context, Reconciler),
    ingress: Context.get(context, Ingress),
    dispatcher: Context.get(context, WebhookDispatcher),
    review: Context.get(context, Review)
  }
})

const gatedPorts = (ready: Context.Context<Layer.Success<ReturnType<typeof Ports.layer>>>, between: Between) => {
  const ledger = Context.get(ready, FloatLedger)
  const keys = Context.get(ready, Idempotency)
  return ready.pipe(
    Context.add(FloatLedger, {
      ...ledger,
      open: (step) => between("open", ledger.open(step)),
      apply: (step) => between("apply", ledger.apply(step))
    }),
    Context.add(Idempotency, {
      claim: (scope, print) => between("claim", keys.claim(scope, print)),
      complete: (claim, answer) => between("complete", keys.complete(claim, answer)),
      release: (claim) => between("release", keys.release(claim))
    })
  )
}

const registryOf = (providers: ReadonlyArray<Provider>, between: Between): ProviderRegistry["Service"] => ({
  known: providers.map(({ name }) => name),
  find: (name, mode) =>
    Option.fromUndefinedOr(providers.find((one) => one.name === name && one.mode === mode)).pipe(
      Option.map((provider) => gatedProvider(provider, between))
    ),
  byRouteKey: (name) => Option.fromUndefinedOr(providers.find((one) => one.name === name)),
  routeKey: () => "route"
})

const gatedProvider = (provider: Provider, between: Between): Provider => {
  const { collections, payouts } = provider
  return {
    ...provider,
    ...(payouts && {
      payouts: {
        quote: (order) => between("quote", payouts.quote(order)),
        send: (order) => between("send", payouts.send(order)),
        ask: (order) => between("ask", payouts.ask(order))
      }
    }),
    ...(collections && {
      collections: {
        charge: (order) => between("charge", collections.charge(order)),
        ask: (order) => between("ask", collections.ask(order))
      }
    })
  }
}

/** A tenant's signed request, from its decoding to its answer's bytes. */
export const request = (
  { collections, idempotent, payouts }: Layers,
  request: Pick<Signed["Service"], "body" | "caller" | "rawHeaders">,
  kind: "payout" | "collection"
) =>
  (kind === "payout"
    ? idempotent.once({ endpoint: "POST /v1/payouts", decode: payoutBody, run: payouts.create })
    : idempotent.once({ endpoint: "POST /v1/collections", decode: collectionBody, run: collections.create })
  ).pipe(
    Effect.provideService(Signed, { ...request, requestId: "simulated", outlasts: () => Effect.void }),
    Effect.flatMap((response) => {
      const web = HttpServerResponse.toWeb(response)
      const isReplay = web.headers.has("idempotency-replayed")
      return Effect.map(
        Effect.promise(() => web.text()),
        (body) => ({ status: web.status, body, isReplay })
      )
    })
  )
