import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { type Random, seeded } from "../support/Random.ts"
import { callerOf, hear, holdsKey, MODES, type Operation, operation, wish } from "./Client.ts"
import { Endpoint } from "./Endpoint.ts"
import type { Ground, Ready } from "./Ground.ts"
import { type Hint, MINUTE } from "./Movement.ts"
import { type Fate, Node } from "./Node.ts"
import { type NodeServices, openServices, quoteFor, request } from "./NodeServices.ts"
import { rule } from "./Person.ts"
import { callbackOf, World } from "./World.ts"

/** A client gives up before the lease of its key ends, as the gateway's own deadline does. */
const PATIENCE_MS = 85_000
const OVERSLEPT_MS = 100_000
/** Where a request is held in the stories of two that come at once. */
const HOLDS = ["after claim", "before open", "after open", "before money", "after money", "before apply"] as const
const PAUSES = [1_000, 5_000, 20_000, MINUTE, 5 * MINUTE, 30 * MINUTE, 180 * MINUTE] as const
/** After the last step: past every lease, every window, every late question and the end of the schedule. */
const CALM_MINUTES = [2, 2, 20, 20, 60, 60, 60, 24 * 60, 24 * 60, 24 * 60, 60]
const ITEMS_AT_MOST = 1_000

interface Process {
  readonly node: Node
  readonly services: NodeServices
}

/** What two gateways, their tenants and their providers do, chosen by a seed; `begin` once, then steps, then `end`. */
export class Story {
  readonly world: World
  readonly told: Array<Operation> = []
  readonly endpoint: Endpoint
  /** Every choice, answer and event in its order: what has to be the same when the seed is played again. */
  readonly log: Array<string> = []
  crashes = 0
  reviewed = 0
  readonly #random: Random
  readonly #ground: Ground
  readonly #processes: Array<Process> = []
  #now: number
  #calm = false
  #held: string | undefined

  constructor(seed: number, ground: Ground, now: number) {
    this.#random = seeded(seed)
    this.world = new World(this.#random)
    this.endpoint = new Endpoint(this.#random, (line) => this.log.push(line))
    this.#ground = ground
    this.#now = now
  }

  readonly begin = Effect.suspend(() =>
    Effect.forEach(this.#ground.ports, (ready) => Effect.map(this.#start(ready), (made) => this.#processes.push(made)))
  )

  readonly step: Effect.Effect<void> = Effect.suspend(() => {
    const dice = this.#random.below(100)
    if (dice < 28) return this.#begun((one) => this.#ask(one))
    if (dice < 40) return this.#begun((one) => this.#together(one))
    if (dice < 50) return this.#again
    if (dice < 63) return this.#pass(this.#random.pick(PAUSES))
    if (dice < 73) return this.#round((services) => services.reconciler.round)
    if (dice < 82) return this.#callbacks
    if (dice < 88) return this.#round((services) => services.dispatcher.round)
    if (dice < 93) return Effect.andThen(this.#any().node.kill, this.#raiseTheDead)
    return Effect.suspend(() => this.#any().node.resume).pipe(Effect.andThen(this.#raiseTheDead))
  })

  /** Nothing goes wrong any more: every client comes back, time passes, and a person looks at what only a person can decide. */
  readonly end = Effect.gen({ self: this }, function* () {
    this.#calm = true
    this.world.calm = true
    this.endpoint.calm = true
    for (const { node } of this.#processes) while (node.waiting.length > 0) yield* node.resume
    for (const minutes of CALM_MINUTES) {
      for (const one of this.told.filter(({ settled }) => settled === undefined)) yield* this.#ask(one)
      yield* this.#pass(minutes * MINUTE)
      yield* this.#hints
      yield* this.#rounds
    }
    this.reviewed += yield* rule(this.#any().services, this.world, this.#moment)
    yield* this.#rounds
  })

  #any(): Process {
    return this.#process(this.#random.below(this.#processes.length))
  }

  #process(index: number): Process {
    return this.#processes[index] ?? unknownNode(index)
  }

  /** Between any two effects of a request it may be left waiting or die with its node. */
  #fate(moment: string, mayWait: boolean): Fate {
    if (this.#calm) return "goes_on"
    const fate = this.#choose(moment, mayWait)
    if (fate !== "goes_on") this.log.push(`${moment}: ${fate}`)
    return fate
  }

  #choose(moment: string, mayWait: boolean): Fate {
    if (this.#held !== undefined) {
      const isThere = mayWait && moment.replace(/send|charge|execute/, "money") === this.#held
      if (isThere) this.#held = undefined
      return isThere ? "waits" : "goes_on"
    }
    if (this.#random.chance(0.03)) return "dies"
    return mayWait && this.#random.chance(0.03) ? "waits" : "goes_on"
  }

  #start(ready: Ready): Effect.Effect<Process> {
    const node = new Node((moment, mayWait) => this.#fate(moment, mayWait))
    const providers = MODES.flatMap((mode) => this.world.providers(mode))
    const services = openServices(node, { ready, providers, post: this.endpoint.receive })
    return Effect.map(services, (opened) => ({ node, services: opened }))
  }

  /** A dead process is started again, knowing nothing. */
  get #raiseTheDead(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      for (const [index, ready] of this.#ground.ports.entries()) {
        if (!this.#process(index).node.isDead) continue
        this.crashes++
        this.log.push("a node died")
        this.#processes[index] = yield* this.#start(ready)
      }
    })
  }

  readonly #moment = Effect.suspend(() => this.#pass(1))

  #pass(ms: number): Effect.Effect<void> {
    this.#now += ms
    return TestClock.setTime(this.#now)
  }

  #work<A>(work: (services: NodeServices) => Effect.Effect<A>, heard: (answer: A) => void = () => {}): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { node, services } = this.#any()
      // No two pieces of work at the same time, so that what is due is due in one order.
      return this.#pass(1).pipe(Effect.andThen(node.run(work(services), heard)), Effect.andThen(this.#raiseTheDead))
    })
  }

  /** Some of what is due, or in calm all of it. */
  #round(round: (services: NodeServices) => Effect.Effect<number>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const limit = this.#calm ? ITEMS_AT_MOST : 1 + this.#random.below(6)
      let done = 1
      for (let item = 0; item < limit && done > 0; item++) {
        done = 0
        yield* this.#work(round, (count) => void (done = count))
      }
    })
  }

  get #rounds(): Effect.Effect<void> {
    return this.#round((services) => services.ingress.round).pipe(
      Effect.andThen(this.#round((services) => services.reconciler.round)),
      Effect.andThen(this.#round((services) => services.dispatcher.round))
    )
  }

  #begun(goOn: (one: Operation) => Effect.Effect<void>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const asked = wish(this.#random)
      const key = `k${this.told.length}`
      let quoteId = ""
      if (asked.kind === "exchange") {
        yield* this.#work(
          (services) => quoteFor(services, asked),
          (id) => void (quoteId = id)
        )
        if (quoteId === "") return
      }
      const made = operation(asked, key, quoteId)
      this.told.push(made)
      yield* goOn(made)
    })
  }

  get #again(): Effect.Effect<void> {
    const [first, ...others] = this.told
    return first === undefined ? Effect.void : this.#ask(this.#random.pick([first, ...others]))
  }

  /** One request is held between two effects while its news arrives, or the same one comes to the other node in or after its lease. */
  #together(one: Operation): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const index = this.#random.below(this.#processes.length)
      const first = this.#process(index)
      if (first.node.waiting.length > 0) return yield* this.#ask(one)
      this.#held = this.#random.pick(HOLDS)
      yield* this.#ask(one, first)
      this.#held = undefined
      const moment = first.node.waiting[0] ?? null
      const dice = this.#random.below(10)
      if (dice < 3) {
        yield* this.#pass(30 * MINUTE)
        yield* this.#callbacks
        yield* this.#round((services) => services.reconciler.round)
      } else if (dice < 7) {
        yield* this.#pass(OVERSLEPT_MS)
        yield* this.#ask(one, this.#process(1 - index))
      } else {
        const since = this.#now
        const isBeside = () => first.node.waiting[0] === moment && this.#now < since + 1_000
        yield* this.#ask(one, this.#process(1 - index), () => (isBeside() && holdsKey(moment) ? moment : null))
      }
      if (this.#random.chance(0.85)) yield* first.node.resume.pipe(Effect.andThen(this.#raiseTheDead))
    })
  }

  /** The client hears the answer, or nothing at all. */
  #ask(one: Operation, { node, services } = this.#any(), beside: () => string | null = () => null): Effect.Effect<void> {
    return Effect.suspend(() => {
      const askedAt = this.#now
      const isLost = !this.#calm && this.#random.chance(0.05)
      const work = request(
        services,
        { body: one.body, caller: callerOf(one), rawHeaders: ["Idempotency-Key", one.key] },
        one.kind
      )
      const asked = node.run(work, (answer, { reference }) => {
        const isHeard = !isLost && this.#now - askedAt < PATIENCE_MS
        this.log.push(`${one.key}: ${answer.status} ${isHeard ? "" : "unheard "}${answer.body}`)
        if (isHeard) hear(one, { ...answer, isOwn: reference !== undefined, beside: beside() })
      })
      return this.#pass(1).pipe(Effect.andThen(asked), Effect.andThen(this.#raiseTheDead))
    })
  }

  get #callbacks(): Effect.Effect<void> {
    return Effect.andThen(
      this.#hints,
      this.#round((services) => services.ingress.round)
    )
  }

  get #hints(): Effect.Effect<void> {
    const bring = (hint: Hint) =>
      this.#work(({ ingress }) => Effect.exit(ingress.receive(hint.provider, hint.mode, callbackOf(hint))))
    return Effect.suspend(() => Effect.forEach(this.world.dueHints(this.#now), bring, { discard: true }))
  }
}

const unknownNode = (index: number): never => {
  throw new Error(`there is no node ${index}`)
}
