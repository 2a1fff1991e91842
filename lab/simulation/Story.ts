import { Effect, Result } from "effect"
import { type Random, seeded } from "../../test/support/Random.ts"
import type { Ask, Heard, Sent } from "./Asking.ts"
import {
  authorization,
  type Code,
  callerOf,
  everyWrongPin,
  hear,
  holdsKey,
  type Operation,
  operation,
  pinOf,
  type Wish,
  wish
} from "./Client.ts"
import { Endpoint } from "./Endpoint.ts"
import { EVENTFUL_FROM, Events } from "./Events.ts"
import {
  CALM_MINUTES,
  CODE_HOLDS,
  HOLDS,
  HOURS_AT_MOST,
  NEXT_DAY,
  NEXT_HOUR,
  OVERSLEPT_MS,
  PATIENCE_MS,
  PAUSES,
  TRIES_AT_MOST
} from "./Moments.ts"
import { MINUTE } from "./Movement.ts"
import { codeFor, quoteFor, request } from "./NodeServices.ts"
import { rule } from "./Person.ts"
import { isRestored } from "./Restores.ts"
import type { CodeRequest } from "./Seen.ts"
import { type Process, Stage } from "./Stage.ts"
import type { Setting, Testbed } from "./Testbed.ts"
import { isUnsteady, offAtMost } from "./Unsteady.ts"
import { World } from "./World.ts"

/** What two gateways, their tenants and their providers do, chosen by a seed; `begin` once, then steps, then `end`. */
export class Story {
  readonly world: World
  readonly stage: Stage
  readonly told: Array<Operation> = []
  readonly codeRequests: Array<CodeRequest> = []
  readonly endpoint: Endpoint
  /** Null in the stories that have none. */
  readonly events: Events | null
  reviewed = 0
  /** Codes that were said so far. */
  #spoken = 0
  readonly #random: Random
  readonly #needsCode: boolean
  readonly seed: number

  constructor(seed: number, testbed: Testbed, { customerAction, movers }: Setting & Pick<World, "movers">, now: number) {
    this.seed = seed
    this.#random = seeded(seed)
    const isEventful = seed >= EVENTFUL_FROM && !isRestored(seed)
    this.world = new World(this.#random, movers, { reverses: isEventful, time: isUnsteady(seed) ? () => this.stage.now : null })
    this.endpoint = new Endpoint(this.#random, (line) => this.stage.log.push(line))
    const played = { seed, random: this.#random, world: this.world, endpoint: this.endpoint }
    this.stage = new Stage(testbed, played, now)
    this.#needsCode = customerAction === "otp"
    const begun = (goOn: (one: Operation) => Effect.Effect<void>) => this.#begun(goOn)
    const ask = (one: Operation, process?: Process) => this.#ask(one)(process)
    const [ports] = testbed.ports
    this.events = isEventful ? new Events({ stage: this.stage, random: this.#random, ports, begun, ask }) : null
  }

  readonly step: Effect.Effect<void> = Effect.suspend(() => {
    if (this.events !== null && this.#random.chance(0.12)) return this.events.one
    const dice = this.#random.below(100)
    if (dice < 28) return this.#begun((one) => this.#ask(one)())
    if (dice < 40) return this.#begun((one) => this.#together(this.#ask(one), HOLDS))
    if (dice < 50) return this.#again
    if (dice < 63) return this.stage.pass(this.#random.pick(PAUSES))
    if (dice < 73) return this.stage.round((services) => services.poller.round)
    if (dice < 82) return this.stage.callbacks
    if (dice < 88) return this.stage.round((services) => services.dispatcher.round)
    if (dice < 93) return Effect.andThen(this.stage.any().node.kill, this.stage.raiseTheDead)
    return Effect.suspend(() => this.stage.any().node.resume).pipe(Effect.andThen(this.stage.raiseTheDead))
  })

  /** Nothing goes wrong any more: every client comes back, time passes, and a person looks at what only a person can decide. */
  readonly end = Effect.gen({ self: this }, function* () {
    const { stage, world } = this
    stage.calm = true
    world.calm = true
    this.endpoint.calm = true
    if (this.events !== null) yield* this.events.over
    for (const { node } of stage.processes) while (node.waiting.length > 0) yield* node.resume
    for (let hour = 0; hour < TRIES_AT_MOST; hour++) {
      const unsettled = this.told.filter(({ settled }) => settled === undefined)
      if (unsettled.length === 0) break
      for (const one of unsettled) yield* this.#ask(one)()
      yield* stage.pass((hour < HOURS_AT_MOST ? NEXT_HOUR : NEXT_DAY) * MINUTE)
      yield* stage.rounds
    }
    for (const minutes of CALM_MINUTES) {
      yield* stage.pass(minutes * MINUTE)
      yield* stage.rounds
    }
    const ruled = yield* rule(stage.any().services, world, stage.moment)
    this.reviewed += ruled
    // The person's clock may be ahead of the database's.
    if (ruled > 0) yield* Effect.andThen(stage.pass(Math.max(MINUTE, offAtMost(this.seed))), stage.rounds)
  })

  #begun(goOn: (one: Operation) => Effect.Effect<void>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const waiting = this.#waiting
      // Where payers say codes, half of what they do is saying them.
      if (waiting !== undefined && this.#random.chance(0.5)) return yield* this.#saidFor(waiting)
      const asked = wish(this.#random)
      // Of an exchange no provider promises anything.
      if (isRestored(this.seed) && asked.kind === "exchange") return
      const key = `k${this.told.length}`
      let quoteId = ""
      if (asked.kind === "exchange") {
        yield* this.stage.work(
          (services) => quoteFor(services, asked),
          (id) => void (quoteId = id)
        )
        if (quoteId === "") return
      }
      const code = yield* this.#codeBefore(asked)
      const made = operation(asked, key, this.stage.now, { quoteId, code })
      this.told.push(made)
      yield* goOn(made)
    })
  }

  /** A collection whose payer has a code to say. */
  get #waiting(): Operation | undefined {
    const waiting = this.told.filter(({ pinId, reference }) => pinId !== undefined && reference !== undefined)
    const [first, ...others] = this.#needsCode ? waiting : []
    return first === undefined ? undefined : this.#random.pick([first, ...others])
  }

  /** Some ask for a code by hand, and bring it with the charge. */
  #codeBefore(asked: Wish): Effect.Effect<Code | null> {
    return Effect.gen({ self: this }, function* () {
      if (!this.#needsCode || asked.kind !== "collection" || this.#random.chance(0.6)) return null
      let pinId: string | undefined
      // Impatient ones press the button more often than a number may be texted.
      const times = this.#random.chance(0.2) ? 5 : 1
      for (let time = 0; time < times; time++) {
        const asking: CodeRequest = { ...asked, askedAt: this.stage.now, answer: null }
        this.codeRequests.push(asking)
        yield* this.stage.work(
          (services) => codeFor(services, asked),
          (answer) => {
            const error = Result.isSuccess(answer) ? null : answer.failure
            if (Result.isSuccess(answer)) pinId = answer.success
            asking.answer = { at: this.stage.now, error }
            this.stage.log.push(`code for ${asked.party}: ${error ?? pinId}`)
          }
        )
      }
      return pinId === undefined ? null : { pinId, pin: pinOf(this.#random, 0.7) }
    })
  }

  #saidFor(one: Operation): Effect.Effect<void> {
    if (this.#random.chance(0.15)) return Effect.forEach(everyWrongPin, (pin) => this.#say(one, pin)(), { discard: true })
    const say = this.#say(one, pinOf(this.#random, 0.6))
    return this.#random.chance(0.4) ? this.#together(say, CODE_HOLDS) : say()
  }

  get #again(): Effect.Effect<void> {
    const [first, ...others] = this.told
    return first === undefined ? Effect.void : this.#ask(this.#random.pick([first, ...others]))()
  }

  /** One request is held between two effects while its news arrives, or the same one comes to the other node in or after its lease. */
  #together(ask: Ask, holds: typeof HOLDS | typeof CODE_HOLDS): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { stage } = this
      const index = this.#random.below(stage.processes.length)
      const first = stage.process(index)
      if (first.node.waiting.length > 0) return yield* ask()
      stage.held = this.#random.pick(holds)
      yield* ask(first)
      stage.held = undefined
      const moment = first.node.waiting[0] ?? null
      const dice = this.#random.below(10)
      if (dice < 3) {
        yield* stage.pass(30 * MINUTE)
        yield* stage.callbacks
        yield* stage.round((services) => services.poller.round)
      } else if (dice < 7) {
        yield* stage.pass(OVERSLEPT_MS)
        yield* ask(stage.process(1 - index))
      } else {
        const since = stage.now
        const isBeside = () => !isUnsteady(this.seed) && first.node.waiting[0] === moment && stage.now < since + 1_000
        yield* ask(stage.process(1 - index), () => (isBeside() && holdsKey(moment) ? moment : null))
      }
      if (this.#random.chance(0.85)) yield* first.node.resume.pipe(Effect.andThen(stage.raiseTheDead))
    })
  }

  /** The client hears the answer, or nothing at all. */
  #ask(one: Operation): Ask {
    return (process, beside = () => null) =>
      this.#send(one, { body: one.body, key: one.key, asked: { kind: one.kind } }, process, (answer) =>
        hear(one, { ...answer, beside: beside() })
      )
  }

  /** Says a code, with a key or without one; the same again where it is asked again. */
  #say(one: Operation, pin: string): Ask {
    const key = this.#random.chance(0.5) ? `${one.key}a${this.#spoken++}` : null
    const reference = one.reference ?? ""
    const body = authorization(one, { pinId: one.pinId ?? "", pin })
    return (process) =>
      this.#send(
        one,
        { body, key, asked: { kind: "authorize", reference } },
        process,
        (answer) => void one.said.push({ ...answer, key, pin })
      )
  }

  /** `process` is the node that it comes to; any where none is named. */
  #send(one: Operation, { asked, body, key }: Sent, process: Process | undefined, heard: Heard): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { stage } = this
      const { node, services } = process ?? stage.any()
      const askedAt = stage.now
      const isLost = !stage.calm && this.#random.chance(0.05)
      const rawHeaders = key === null ? [] : ["Idempotency-Key", key]
      const work = request(services, { body, caller: callerOf(one), rawHeaders }, asked)
      const about = "reference" in asked ? asked.reference : undefined
      const going = node.run(
        work,
        (answer, { reference }) => {
          const answeredAt = stage.now
          const isHeard = !isLost && answeredAt - askedAt < PATIENCE_MS
          stage.log.push(`${key ?? one.key} ${asked.kind}: ${answer.status} ${isHeard ? "" : "unheard "}${answer.body}`)
          if (isHeard) heard({ ...answer, isOwn: reference !== undefined, askedAt, answeredAt })
        },
        about
      )
      return stage.moment.pipe(Effect.andThen(going), Effect.andThen(stage.raiseTheDead))
    })
  }
}
