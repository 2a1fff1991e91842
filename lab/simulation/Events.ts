import { Context, Effect } from "effect"
import { AppId } from "../../src/domain/Ids.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import type { Random } from "../../test/support/Random.ts"
import { auditEntry } from "../../test/support/TestDatabase.ts"
import { type Operation, TENANTS } from "./Client.ts"
import type { Node } from "./Node.ts"
import type { Freeze } from "./Seen.ts"
import type { Process, Stage } from "./Stage.ts"
import type { Ready } from "./Testbed.ts"

/** Stories of these seeds have what is in this file, and charges that are reversed; those before are played as they always were. */
export const EVENTFUL_FROM = 1_000_000

const ABREAST_AT_MOST = 4

interface Given {
  readonly stage: Stage
  readonly random: Random
  readonly ports: Ready
  /** A new operation, handed on and not sent. */
  readonly begun: (goOn: (one: Operation) => Effect.Effect<void>) => Effect.Effect<void>
  /** `process` is the node that it comes to; any where none is named. */
  readonly ask: (one: Operation, process?: Process) => Effect.Effect<void>
}

/** A tenant is frozen, or may move money again. */
export class Events {
  readonly freezes: Array<Freeze> = []
  readonly #given: Given

  constructor(given: Given) {
    this.#given = given
  }

  get one(): Effect.Effect<void> {
    const { random, stage } = this.#given
    if (random.chance(0.7)) return this.#abreast
    return Effect.andThen(stage.moment, this.#turn(random.pick(TENANTS)))
  }

  /** Nobody is frozen any more. */
  get over(): Effect.Effect<void> {
    return Effect.forEach(
      TENANTS.filter((appId) => this.#current(appId) !== undefined),
      (appId) => this.#turn(appId),
      { discard: true }
    )
  }

  #current(appId: string): Freeze | undefined {
    return this.freezes.find((one) => one.appId === appId && one.until === Number.POSITIVE_INFINITY)
  }

  #turn(appId: string): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { ports, stage } = this.#given
      const frozen = this.#current(appId)
      if (frozen !== undefined) frozen.until = stage.now
      const status = frozen === undefined ? "frozen" : "active"
      stage.log.push(`${appId} is ${status}`)
      yield* Context.get(ports, Tenants).setStatus(AppId.make(appId), status, auditEntry())
      if (frozen === undefined) this.freezes.push({ appId, from: stage.now, until: Number.POSITIVE_INFINITY })
      yield* stage.moment
    })
  }

  /** Several requests are on one node at once: what they open is one commit, what they hear is another, and in between each goes its way. */
  get #abreast(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { ask, begun, random, stage } = this.#given
      const asked: Array<Operation> = []
      // Of two charges of a number one would ask about the other, and wait for what stands still.
      const after: Array<Operation> = []
      const asksAgain = (one: Operation) => one.kind === "collection" && asked.some((other) => isSamePayer(one, other))
      for (let left = 2 + random.below(ABREAST_AT_MOST - 1); left > 0; left--)
        yield* begun((one) => Effect.sync(() => void (asksAgain(one) ? after : asked).push(one)))
      const process = stage.any()
      const { node } = process
      const isFree = node.waiting.length === 0
      for (const one of asked) {
        stage.held = isFree ? "before open" : undefined
        yield* ask(one, process)
      }
      if (isFree) {
        yield* this.#atOnce(node, "after open")
        for (let left = node.waiting.length; left > 0; left--) {
          stage.held = "before apply"
          yield* node.resume
        }
        yield* this.#atOnce(node, "after apply")
      }
      stage.held = undefined
      while (node.waiting.length > 0 && !node.isDead) yield* node.resumeAt(random.below(node.waiting.length))
      yield* stage.raiseTheDead
      for (const one of after) yield* ask(one)
    })
  }

  /** All that waits does its next effect at the same time. */
  #atOnce(node: Node, moment: string): Effect.Effect<void> {
    const { stage } = this.#given
    return Effect.suspend(() => {
      stage.held = undefined
      stage.heldEach = moment
      return Effect.ensuring(
        node.resumeAll,
        Effect.sync(() => (stage.heldEach = undefined))
      )
    })
  }
}

const isSamePayer = (one: Operation, other: Operation): boolean =>
  other.kind === "collection" && other.appId === one.appId && other.mode === one.mode && other.party === one.party
