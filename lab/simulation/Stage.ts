import { Clock, Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { makeDatabaseTime } from "../../src/persistence/connection/DatabaseClock.ts"
import { type Random, seeded } from "../../test/support/Random.ts"
import { MODES } from "./Client.ts"
import type { Endpoint } from "./Endpoint.ts"
import { callbackOf } from "./Hints.ts"
import type { Hint } from "./Movement.ts"
import { type Fate, Node } from "./Node.ts"
import { type NodeServices, openServices } from "./NodeServices.ts"
import type { Commit, Notes, Placing } from "./Seen.ts"
import type { Ready, Testbed } from "./Testbed.ts"
import { databaseJumps, isUnsteady, Machines } from "./Unsteady.ts"
import type { World } from "./World.ts"

const ITEMS_AT_MOST = 1_000
/** A provider repeats what was not taken. */
const AGAIN_MS = 5 * 60_000

export interface Process {
  readonly node: Node
  readonly services: NodeServices
  /** Asks the database for its time, as a gateway does each second. */
  readonly reread: Effect.Effect<void>
}

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
  readonly machines: Machines
  readonly #seed: number

  constructor(testbed: Testbed, { endpoint, random, seed, world }: Played, now: number) {
    this.#random = random
    this.#clockRandom = seeded(~seed)
    this.#seed = seed
    this.machines = new Machines(seed)
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

  /** The other one while its machine is suspended. */
  process(index: number): Process {
    const awake = this.machines.isAsleep(index) ? 1 - index : index
    return this.#processes[awake] ?? unknownNode(index)
  }

  pass(ms: number): Effect.Effect<void> {
    this.now += ms
    const passed = TestClock.setTime(this.now)
    return ms < REREAD_MS ? passed : Effect.andThen(passed, this.#reread(this.#processes))
  }

  /** Another server takes over, whose clock is another. One process sees it at once, the other only when it asks again. */
  get databaseClockMayJump(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const jumps = databaseJumps(this.#seed)
      if (!this.#clockRandom.chance(jumps.share)) return Effect.void
      const off = this.#clockRandom.pick(jumps.off)
      if (off !== this.#databaseOff) this.jumps++
      this.#databaseOff = off
      this.log.push(`the database's clock jumps to ${off} ms`)
      return this.#reread([this.process(this.#clockRandom.below(this.#processes.length))])
    })
  }

  /** A machine is suspended or goes on. What stood still on it goes on before its process has asked for the time again. */
  get machineMaySleep(): Effect.Effect<void> {
    return Effect.flatMap(this.machines.mayChange, (changed) => {
      if (changed === null) return Effect.void
      this.log.push(`machine ${changed.index} ${changed.isAwake ? "goes on" : "is suspended"}`)
      return changed.isAwake ? Effect.andThen(this.process(changed.index).node.resume, this.raiseTheDead) : Effect.void
    })
  }

  #reread(processes: ReadonlyArray<Process>): Effect.Effect<void> {
    const awake = processes.filter((one) => !this.machines.isAsleep(this.#processes.indexOf(one)))
    return Effect.forEach(awake, ({ reread }) => reread, { discard: true })
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
        if (this.#processes[index]?.node.isDead !== true) continue
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
      const machine = this.machines.clockOf(index, right)
      // Nobody vouches for a clock that jumps, so that a process that has just begun believes no grace. In the other stories, which are played as
      // they always were, it believes each.
      const unwatched = () => Number.NEGATIVE_INFINITY
      const { reread, ...time } = yield* Effect.provideService(makeDatabaseTime(micros, unwatched), Clock.Clock, machine)
      const known = isUnsteady(this.#seed) ? time : { ...time, leaps: Effect.succeed([]) }
      const node = new Node((moment, mayWait) => this.#fate(moment, mayWait), known)
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
