import type { RawCallback } from "../../../src/services/ports/Provider.ts"
import { type Random } from "../../../test/support/Random.ts"
import type { Case } from "./Case.ts"
import type { Outside } from "./Outside.ts"

interface Coming {
  readonly at: number
  readonly one: Case
  readonly callback: RawCallback
}

/** What became of each callback between the provider and us: some come twice, some late, some never, and none in an order. */
export class Callbacks {
  readonly #coming: Array<Coming> = []
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  /** Those that have left since it was asked last. */
  take({ callbacks, transactions }: Outside, cases: ReadonlyArray<Case>, now: number): void {
    for (const callback of callbacks.splice(0)) {
      const body = Buffer.from(callback.body).toString("utf8").toLowerCase()
      const one = cases.find(({ operations }) =>
        operations.some(({ reference }) =>
          reference === undefined
            ? false
            : [reference, ...transactions(reference).map(({ id }) => id)].some((name) => body.includes(name.toLowerCase()))
        )
      )
      if (one !== undefined) for (const after of one.plan.callback()) this.#coming.push({ at: now + after, one, callback })
    }
  }

  due(now: number): ReadonlyArray<RawCallback> {
    return this.#taken(({ at }) => at <= now)
  }

  /** Whatever comes of a case comes now. */
  of(one: Case): ReadonlyArray<RawCallback> {
    return this.#taken((coming) => coming.one === one)
  }

  #taken(isMeant: (coming: Coming) => boolean): ReadonlyArray<RawCallback> {
    const taken: Array<RawCallback> = []
    for (const coming of this.#coming.filter(isMeant)) {
      this.#coming.splice(this.#coming.indexOf(coming), 1)
      taken.splice(this.#random.below(taken.length + 1), 0, coming.callback)
    }
    return taken
  }
}
