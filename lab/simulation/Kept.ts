import type { StatusOutcome } from "../../src/services/ports/Provider.ts"
import { readHint } from "./Hints.ts"
import { MINUTE, type Movement } from "./Movement.ts"

/** Payments to a paybill are listed for so long. */
const LISTED_MS = 48 * 60 * MINUTE

/** What the gateway keeps of a provider whose answers come later, in a memory that both nodes share and that outlives them. */
export class Kept {
  readonly #reported = new Set<string>()
  readonly #answers = new Map<string, StatusOutcome>()

  /** The report of a charge that has ended names what it can be asked for by. Somebody else's does not. */
  report(movements: ReadonlyArray<Movement>, body: Uint8Array, now: number): void {
    const hint = readHint(Buffer.from(body).toString("utf8"), false)
    if (hint._tag === "None" || hint.value.reference === null) return
    const { reference } = hint.value
    if (movements.some((one) => one.reference === reference && one.settlesAt <= now)) this.#reported.add(reference)
  }

  /** Whether something leads to a charge that has no identifier of ours: its report, or its payment. */
  leadsTo({ outcome, reference, settlesAt }: Movement, now: number): boolean {
    const isListed = outcome === "successful" && settlesAt <= now && now < settlesAt + LISTED_MS
    return isListed || this.#reported.has(reference)
  }

  /** The answer came once nobody waited for it. */
  answer(reference: string, outcome: StatusOutcome): void {
    this.#answers.set(reference, outcome)
  }

  /** The next question takes it. */
  late(reference: string): StatusOutcome | undefined {
    const outcome = this.#answers.get(reference)
    this.#answers.delete(reference)
    return outcome
  }
}
