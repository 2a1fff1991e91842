import { Effect } from "effect"
import type { SignedDelivery } from "../../src/services/ports/WebhookSender.ts"
import type { Random } from "../../test/support/Random.ts"
import type { Event } from "./Seen.ts"

/** The tenants' endpoint: it takes what it hears, and sometimes says that it did not. */
export class Endpoint {
  readonly events: Array<Event> = []
  calm = false
  readonly #random: Random
  readonly #say: (line: string) => void
  /** Each is refused once at most: what is refused to the end of the schedule is parked, and waits for a person. */
  readonly #refused = new Set<string>()

  constructor(random: Random, say: (line: string) => void) {
    this.#random = random
    this.#say = say
  }

  readonly receive = ({ body, headers }: SignedDelivery) =>
    Effect.sync(() => {
      const { data, type }: { data: { reference: string; version?: number; status: string }; type: string } = JSON.parse(body)
      const id = headers["webhook-id"] ?? ""
      const refuses = !this.calm && !this.#refused.has(id) && this.#random.chance(0.2)
      if (refuses) this.#refused.add(id)
      if (!refuses || this.#random.chance(0.5))
        this.events.push({ id, type, body, reference: data.reference, version: data.version ?? 0, status: data.status })
      this.#say(`event ${refuses ? "refused" : "taken"} ${body}`)
      return { status: refuses ? 500 : 204, excerpt: "", retryAfter: null, problem: null }
    })
}
