import { Clock, Deferred, Effect } from "effect"
import type { DatabaseTime } from "../../src/persistence/connection/DatabaseClock.ts"
import { LatestTime } from "../../src/runtime/LatestTime.ts"
import { ClockTrust } from "../../src/services/ports/ClockWatch.ts"

/** What happens at the moment between two effects: the node goes on, waits while others do something, or dies. */
export type Fate = "goes_on" | "waits" | "dies"

/** Asked at every such moment, with the effect's name and whether it is about to happen or has happened, and whether it may wait there. */
export type Gate = (moment: string, mayWait: boolean) => Fate

/** Puts an effect between two such moments. */
export type Between = <A, E, R>(moment: string, effect: Effect.Effect<A, E, R>, mayWait?: boolean) => Effect.Effect<A, E, R>

/** Where the answer to a shared question is there. */
const ANSWERED: ReadonlySet<string> = new Set(["before done", "after done"])

/** Work that a node has begun. */
export interface Task {
  readonly ended: Deferred.Deferred<void>
  /** Told when it waits at a gate. */
  paused: Deferred.Deferred<void>
  /** That it is about, or that of the key that it claimed itself. */
  reference: string | undefined
  /** Whose news it asks a provider for, where all news about one transaction share one question. */
  asksAbout: string | undefined
}

interface Waiting {
  readonly task: Task
  readonly moment: string
  readonly resume: Deferred.Deferred<void>
}

/** One gateway process. At most one piece of its work goes on at a time, so that the same seed always plays the same story. */
export class Node {
  readonly #gate: Gate
  readonly #clock: Clock.Clock
  readonly #time: Pick<DatabaseTime, "latest" | "leaps">
  readonly #died = Deferred.makeUnsafe<void>()
  readonly #waiting: Array<Waiting> = []
  #dead = false
  #current: Task | undefined

  /** What its work takes for the time, and what it knows of that. */
  constructor(gate: Gate, { clock, ...time }: Pick<DatabaseTime, "clock" | "latest" | "leaps">) {
    this.#gate = gate
    this.#clock = clock
    this.#time = time
  }

  get isDead(): boolean {
    return this.#dead
  }

  /** Where its work waits, the longest first. */
  get waiting(): ReadonlyArray<string> {
    return this.#waiting.map(({ moment }) => moment)
  }

  get current(): Task | undefined {
    return this.#current
  }

  /** As `kill -9` does: nothing of it takes another step. */
  readonly kill: Effect.Effect<void> = Effect.suspend(() => {
    this.#dead = true
    this.#waiting.length = 0
    return Effect.asVoid(Deferred.succeed(this.#died, undefined))
  })

  /** Runs work until it is done, waits at a gate, or dies with its node. `heard` gets its answer, now or once it goes on. */
  run<A>(work: Effect.Effect<A>, heard: (answer: A, task: Task) => void = () => {}, about?: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const [ended, paused] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
      const task: Task = { ended, paused, reference: about, asksAbout: undefined }
      const begun = work.pipe(
        Effect.tap((answer) => Effect.sync(() => heard(answer, task))),
        Effect.ensuring(Deferred.succeed(task.ended, undefined)),
        Effect.provideService(Clock.Clock, this.#clock),
        Effect.provideService(LatestTime, this.#time.latest),
        Effect.provideService(ClockTrust, { ...ClockTrust.defaultValue(), leaps: this.#time.leaps })
      )
      this.#current = task
      // Nobody interrupts it: what waits goes on later, and what died stays where it was.
      return Effect.andThen(Effect.forkDetach(begun), this.#until(task))
    })
  }

  /** Lets the work that waits longest go on, until it is done, waits again or dies. */
  readonly resume: Effect.Effect<void> = Effect.suspend(() => this.resumeAt(0))

  /** The same of the work that waits in this place. */
  resumeAt(place: number): Effect.Effect<void> {
    const [next] = this.#waiting.splice(place, 1)
    if (next === undefined) return Effect.void
    next.task.paused = Deferred.makeUnsafe<void>()
    this.#current = next.task
    return Effect.andThen(Deferred.succeed(next.resume, undefined), this.#until(next.task))
  }

  /** All that waits goes on at the same time, until each is done or waits again: whoever lets it has to make it wait behind the next effect. */
  readonly resumeAll: Effect.Effect<void> = Effect.suspend(() => {
    const all = this.#waiting.splice(0)
    for (const { task } of all) task.paused = Deferred.makeUnsafe<void>()
    return Effect.forEach(all, ({ resume }) => Deferred.succeed(resume, undefined), { discard: true }).pipe(
      Effect.andThen(Effect.forEach(all, ({ task }) => this.#until(task), { discard: true }))
    )
  })

  /**
   * The work that goes on is about to ask what other work of this node may be asking: that has its answer first. Otherwise one would wait for
   * the other, which stands still until the story lets it go on, and the story for both.
   */
  asks(subject: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const own = this.#current
      if (own !== undefined) own.asksAbout = subject
      return Effect.andThen(
        this.#answered(subject),
        Effect.suspend(() => {
          this.#current = own
          return this.#dead ? Effect.never : Effect.void
        })
      )
    })
  }

  #answered(subject: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const place = this.#waiting.findIndex(({ moment, task }) => task.asksAbout === subject && !ANSWERED.has(moment))
      return place === -1 ? Effect.void : Effect.andThen(this.resumeAt(place), this.#answered(subject))
    })
  }

  readonly between: Between = (moment, effect, mayWait = true) =>
    Effect.suspend(() => {
      // Of several that go on at the same time, each waits as itself.
      const task = this.#current
      return this.#pass(task, `before ${moment}`, mayWait).pipe(
        Effect.andThen(effect),
        Effect.flatMap((answer) => Effect.as(this.#pass(task, `after ${moment}`, mayWait), answer))
      )
    })

  #until({ ended, paused }: Task): Effect.Effect<void> {
    return Effect.raceAllFirst([Deferred.await(ended), Deferred.await(paused), Deferred.await(this.#died)])
  }

  #pass(task: Task | undefined, moment: string, mayWait: boolean): Effect.Effect<void> {
    return Effect.suspend((): Effect.Effect<void> => {
      if (this.#dead) return Effect.never
      const fate = this.#gate(moment, mayWait)
      if (fate === "dies") return Effect.andThen(this.kill, Effect.never)
      if (fate === "goes_on" || task === undefined || !mayWait) return Effect.void
      const resume = Deferred.makeUnsafe<void>()
      this.#waiting.push({ task, moment, resume })
      return Deferred.succeed(task.paused, undefined).pipe(
        Effect.andThen(Deferred.await(resume)),
        Effect.andThen(Effect.suspend(() => (this.#dead ? Effect.never : Effect.void)))
      )
    })
  }
}
