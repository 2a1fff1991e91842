import { program } from "../http/Child.ts"
import { openStand } from "../http/Sides.ts"
import { cpuSeconds } from "../Processes.ts"
import { inTurn, type Part } from "../Report.ts"
import { eventBody, openOutgoing } from "./Outgoing.ts"

/** So many that the quarter of a second until somebody looks, which is no part of what a second can take, hardly counts. */
const EVENTS = 10_000
const EVENTS_IN_A_QUICK_LOOK = 1_000

/** Events that are all due at once, until the last of them was received. Ours come out of the outbox, and each delivery is recorded. */
export const part: Part = {
  name: "webhooks",
  against: "a bare loop: undici posts with HMAC, from memory, 128 at once",
  target: 0.45,
  run: async (cluster, effort) => {
    const stand = await openStand()
    const outgoing = await openOutgoing(cluster, stand)
    const bare = await program("../webhooks/BareLoop.ts", { RECEIVER_ORIGIN: outgoing.origin, EVENT: eventBody })
    const count = effort.quick ? EVENTS_IN_A_QUICK_LOOK : EVENTS
    try {
      const before = { ours: cpuSeconds(outgoing.pid), theirs: cpuSeconds(bare.child.pid) }
      const { rounds, ...figures } = await inTurn(
        effort,
        () => outgoing.delivered(count),
        () => outgoing.posted(count, () => bare.child.process.send(count))
      )
      const sent = count * (effort.rounds + 1)
      const cost = (pid: number, since: number) => (1000 * (cpuSeconds(pid) - since)) / sent
      return {
        ...figures,
        unit: "events/s",
        details: {
          rounds,
          events_a_round: count,
          cpu_ms_an_event: { ours: cost(outgoing.pid, before.ours), theirs: cost(bare.child.pid, before.theirs) }
        }
      }
    } finally {
      await bare.child.stop()
      await outgoing.stop()
      await stand.close()
    }
  }
}
