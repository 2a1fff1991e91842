import { Clock, Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { makeDatabaseTime } from "../../src/persistence/DatabaseClock.ts"
import { type Random, seeded } from "../support/Random.ts"
import { offBy } from "../support/WrongClock.ts"
import { MODES } from "./Client.ts"
import type { Endpoint } from "./Endpoint.ts"
import { callbackOf } from "./Hints.ts"
import type { Hint } from "./Movement.ts"
import { type Fate, Node } from "./Node.ts"
import { type NodeServices, openServices } from "./NodeServices.ts"
import type { Commit, Notes, Placing } from "./Seen.ts"
import type { Ready, Testbed } from "./Testbed.ts"
import type { World } from "./World.ts"

const ITEMS_AT_MOST = 1_000
/** A provider repeats what was not taken. */
const AGAIN_MS = 5 * 60_000
/** How far the machine of each process is off: one ahead, one behind. Both take their time from the database, which is right. */
const OFF_MS = [11 * 60_000, -11 * 60_000]

export interface Process {
  readonly node: Node
  readonly services: NodeServices
  /** Asks the database for its time, as a gateway does each second. */
  readonly reread: Effect.Effect<void>
}

/** What the database's clock may be off by: after a failover it is another machine's. */
const DATABASE_OFF_MS = [-3_000, 0, 3_000] as const
const REREAD_MS = 1_000

/** What the processes work against, and what draws the chances. */
interface Played {
  readonly random: Random
  /** Of what draws for itself, so that a story is the same with and without it. */
  readonly seed: number
  readonly world: World
  readonly endpoint: Endpoint
}

/** Two processes, the clock, and what happens to them: `begin` once. */
export class Stage {
  /** Every choice, answer and event in its order: what has to be the same when the seed is played again. */
  readonly log: Array<string> = []
  readonly placings: Array<Placing> = []
  readonly commits: Array<Commit> = []
  readonly openings: Array<Placing> = []
  crashes = 0
  now: number
  /** Nobody dies or is left standing any more, and every round does all that is due. */
  calm = false
  /** The only moment at which the next piece of work is left standing; undefined where the dice decide. */
  held: string | undefined
  /** The moment at which each piece of work is left standing, while several go on at the same time. */
  heldEach: string | undefined
  jumps = 0
  #databaseOff = 0
  readonly #clockRandom: Random
  readonly #random: Random
  readonly #testbed: Testbed
  readonly #world: World
  readonly #endpoint: Endpoint
  readonly #processes: Array<Process> = []

  constructor(testbed: Testbed, { endpoint, random, seed, world }: Played, now: number) {
    this.#random = random
    this.#clockRandom = seeded(~seed)
    this.#testbed = testbed
    this.#world = world
    this.#endpoint = endpoint
    this.now = now
  }

  readonly begin = Effect.suspend(() =>
    Effect.forEach(this.#testbed.ports, (ready, index) =>
      Effect.map(this.#start(ready, index), (made) => this.#processes.push(made))
    )
  )

  get processes(): ReadonlyArray<Process> {
    return this.#processes
  }

  any(): Process {
    return this.process(this.#random.below(this.#processes.length))
  }

  process(index: number): Process {
    return this.#processes[index] ?? unknownNode(index)
  }

  pass(ms: number): Effect.Effect<void> {
    this.now += ms
    const passed = TestClock.setTime(this.now)
    return ms < REREAD_MS ? passed : Effect.andThen(passed, this.#reread(this.#processes))
  }

  /** Another server takes over, whose clock is another. One process sees it at once, the other only when it asks again. */
  get databaseClockMayJump(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!this.#clockRandom.chance(0.05)) return Effect.void
      const off = this.#clockRandom.pick(DATABASE_OFF_MS)
      if (off !== this.#databaseOff) this.jumps++
      this.#databaseOff = off
      this.log.push(`the database's clock jumps to ${off} ms`)
      return this.#reread([this.process(this.#clockRandom.below(this.#processes.length))])
    })
  }

  #reread(processes: ReadonlyArray<Process>): Effect.Effect<void> {
    return Effect.forEach(processes, ({ reread }) => reread, { discard: true })
  }

  readonly moment = Effect.suspend(() => this.pass(1))

  /** Every process ends where it stands, and begins anew: with what is in the settings by then. */
  get restart(): Effect.Effect<void> {
    return Effect.andThen(
      Effect.suspend(() => Effect.forEach(this.#processes, ({ node }) => node.kill, { discard: true })),
      this.raiseTheDead
    )
  }

  /** A dead process is started again, knowing nothing. */
  get raiseTheDead(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      for (const [index, ready] of this.#testbed.ports.entries()) {
        if (!this.process(index).node.isDead) continue
        this.crashes++
        this.log.push("a node died")
        this.#processes[index] = yield* this.#start(ready, index)
      }
    })
  }

  work<A>(work: (services: NodeServices) => Effect.Effect<A>, heard: (answer: A) => void = () => {}): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { node, services } = this.any()
      // No two pieces of work at the same time, so that what is due is due in one order.
      return this.moment.pipe(Effect.andThen(node.run(work(services), heard)), Effect.andThen(this.raiseTheDead))
    })
  }

  /** Some of what is due, or in calm all of it. */
  round(round: (services: NodeServices) => Effect.Effect<number>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const limit = this.calm ? ITEMS_AT_MOST : 1 + this.#random.below(6)
      let done = 1
      for (let item = 0; item < limit && done > 0; item++) {
        done = 0
        yield* this.work(round, (count) => void (done = count))
      }
    })
  }

  get rounds(): Effect.Effect<void> {
    return this.callbacks.pipe(
      Effect.andThen(this.round((services) => services.poller.round)),
      Effect.andThen(this.round((services) => services.dispatcher.round))
    )
  }

  get callbacks(): Effect.Effect<void> {
    const bring = (hint: Hint) => {
      let isTaken = false
      const receive = this.work(
        ({ ingress }) => Effect.exit(ingress.receive(hint.provider, hint.mode, callbackOf(hint))),
        (exit) => void (isTaken = Exit.isSuccess(exit))
      )
      const again = Effect.sync(() => void this.#world.hints.push({ ...hint, at: this.now + AGAIN_MS }))
      return Effect.andThen(
        receive,
        Effect.suspend(() => (hint.isRepeated && !isTaken ? again : Effect.void))
      )
    }
    return Effect.suspend(() => Effect.forEach(this.#world.dueHints(this.now), bring, { discard: true })).pipe(
      Effect.andThen(this.round((services) => services.ingress.round))
    )
  }

  /** Between any two effects of a request it may be left waiting or die with its node. */
  #fate(moment: string, mayWait: boolean): Fate {
    if (this.calm) return "goes_on"
    const fate = this.#choose(moment, mayWait)
    if (fate !== "goes_on") this.log.push(`${moment}: ${fate}`)
    return fate
  }

  #choose(moment: string, mayWait: boolean): Fate {
    if (this.heldEach !== undefined) return mayWait && moment === this.heldEach ? "waits" : "goes_on"
    if (this.held !== undefined) {
      const isThere = mayWait && moment.replace(/send|charge|execute/, "money") === this.held
      if (isThere) this.held = undefined
      return isThere ? "waits" : "goes_on"
    }
    if (this.#random.chance(0.03)) return "dies"
    return mayWait && this.#random.chance(0.03) ? "waits" : "goes_on"
  }

  #start(ready: Ready, index: number): Effect.Effect<Process> {
    return Effect.gen({ self: this }, function* () {
      const right = yield* Clock.Clock
      const micros = Effect.map(right.currentTimeNanos, (nanos) => nanos / 1_000n + BigInt(this.#databaseOff) * 1_000n)
      const machine = offBy(right, OFF_MS[index] ?? 0)
      const { clock, reread } = yield* Effect.provideService(makeDatabaseTime(micros), Clock.Clock, machine)
      const node = new Node((moment, mayWait) => this.#fate(moment, mayWait), clock)
      const providers = MODES.flatMap((mode) => this.#world.providers(mode))
      // The story moves the time, not the node.
      const takesTime = Effect.provideService(this.moment, Clock.Clock, right)
      const notes: Notes = {
        placed: (reference) => void this.placings.push({ reference, at: this.now }),
        opened: (reference) => void this.openings.push({ reference, at: this.now }),
        committed: ({ completedAt, reference, status }) =>
          void this.commits.push({ reference, status, completedAt, at: this.now })
      }
      const outside = { ready, providers, post: this.#endpoint.receive, takesTime, notes }
      return { node, reread: Effect.provideService(reread, Clock.Clock, machine), services: yield* openServices(node, outside) }
    })
  }
}

const unknownNode = (index: number): never => {
  throw new Error(`there is no node ${index}`)
}
