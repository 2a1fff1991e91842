import { perSecond } from "../http/Rig.ts"
import { faultless, openOurs, openStand } from "../http/Sides.ts"
import { residentBytes } from "../Processes.ts"
import type { Part } from "../Report.ts"

const LIMIT_MB = 300
const PAYOUTS = 100_000
const PAYOUTS_IN_A_QUICK_LOOK = 5_000
const STRETCHES = 20
const MAXIMUM_SECONDS = 420
/** So many that batches are full: what is looked at is what stays, and it should come soon. */
const CONNECTIONS = 256
const MB = 1024 * 1024
const TENANTS = 64

/** What one gateway holds in memory after many payouts, and whether it still grows over the last half of them. */
export const part: Part = {
  name: "memory",
  against: `${LIMIT_MB} MB`,
  target: 1,
  atMost: true,
  run: async (cluster, { quick }) => {
    const stand = await openStand()
    const ours = await openOurs(cluster, stand, { tenants: TENANTS })
    try {
      const payouts = quick ? PAYOUTS_IN_A_QUICK_LOOK : PAYOUTS
      const until = performance.now() + MAXIMUM_SECONDS * 1000
      const held: Array<number> = []
      const rates: Array<number> = []
      let made = 0
      while (made < payouts && performance.now() < until) {
        const count = payouts / STRETCHES
        const task = { ports: [ours.port], keys: ours.keys, connections: CONNECTIONS, what: "payout", count, ahead: 500 } as const
        const outcome = faultless(await stand.load({ ...task, seconds: (until - performance.now()) / 1000 }))
        made += outcome.answered
        held.push(residentBytes(ours.pid) / MB)
        rates.push(perSecond(outcome))
      }
      const lastHalf = held.slice(Math.floor(held.length / 2))
      const middle = (Math.max(...lastHalf) + Math.min(...lastHalf)) / 2
      const swing = (Math.max(...lastHalf) - Math.min(...lastHalf)) / 2 / middle
      const last = held.at(-1) ?? Number.NaN
      return {
        ours: last,
        theirs: LIMIT_MB,
        ratio: last / LIMIT_MB,
        unit: "MB",
        // Fewer are no proof.
        ...(made < PAYOUTS && { reached: false }),
        note: `after ${made} of ${PAYOUTS} payouts, ± ${(100 * swing).toFixed(0)} % over the last half`,
        details: { payouts: made, held_mb: held, payouts_a_second: rates, swing_of_the_last_half: swing }
      }
    } finally {
      await ours.stop()
      await stand.close()
    }
  }
}
