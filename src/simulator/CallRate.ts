import type { SimulatedResponse } from "./SimulatedProvider.ts"

/** How many calls a provider lets in, and how long it says that whoever it turns away has to wait; it need not say. */
export interface CallRate {
  readonly callsPerSecond: number
  readonly retryAfterSeconds?: number | undefined
}

const SECOND_MS = 1_000

/** A provider that lets in so many calls within any second and turns the others away. It takes all until a rate is set. */
export class RateGate {
  #rate: CallRate | null = null
  /** When each call of the last second was let in. */
  #letIn: Array<number> = []
  #turnedAway = 0

  /** From now on; null takes all again. */
  set(rate: CallRate | null): void {
    this.#rate = rate
    this.#letIn = []
    this.#turnedAway = 0
  }

  /** Since the rate was set. */
  get turnedAway(): number {
    return this.#turnedAway
  }

  /** Undefined where a call at this time is let in, else how it is answered; what is turned away counts towards no rate. */
  answer(tooMany: SimulatedResponse, now: number): SimulatedResponse | undefined {
    const rate = this.#rate
    if (rate === null) return undefined
    this.#letIn = this.#letIn.filter((at) => now - at < SECOND_MS)
    if (this.#letIn.length < rate.callsPerSecond) {
      this.#letIn.push(now)
      return undefined
    }
    this.#turnedAway += 1
    const { retryAfterSeconds } = rate
    if (tooMany.kind !== "response" || retryAfterSeconds === undefined) return tooMany
    return { ...tooMany, retryAfter: String(retryAfterSeconds) }
  }
}
