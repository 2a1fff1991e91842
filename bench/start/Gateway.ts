import { openOurs, openStand } from "../http/Sides.ts"
import { median, type Part } from "../Report.ts"

const LIMIT_SECONDS = 2
const LEAST_STARTS = 3

/** The gateway alone, on a database that is there and up to date. */
export const part: Part = {
  name: "start-gateway",
  against: `${LIMIT_SECONDS} s`,
  target: 1,
  atMost: true,
  run: async (cluster, { rounds }) => {
    const stand = await openStand()
    const ours = await openOurs(cluster, stand, { tenants: 1 })
    try {
      const seconds: Array<number> = []
      const cpu: Array<number> = []
      for (let round = 0; round < Math.max(rounds, LEAST_STARTS); round++) {
        const { readyCpuSeconds, readyMs } = await ours.another()
        seconds.push(readyMs / 1000)
        cpu.push(readyCpuSeconds)
      }
      const middle = median(seconds)
      return {
        ours: middle,
        theirs: LIMIT_SECONDS,
        ratio: middle / LIMIT_SECONDS,
        unit: "s",
        details: { seconds, cpu_seconds: cpu }
      }
    } finally {
      await ours.stop()
      await stand.close()
    }
  }
}
