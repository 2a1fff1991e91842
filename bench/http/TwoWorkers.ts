import { median, type Part } from "../Report.ts"
import { perSecond, pushed, withRig } from "./Rig.ts"

const TENANTS = 64

/** `serve --workers 2` beside `serve`: the load, the provider and the database use the machine's cores as well. */
export const part: Part = {
  name: "two-workers",
  against: "one process, on the same database and machine",
  target: 1,
  run: (cluster, { rounds, secondsARound: seconds }) =>
    withRig(cluster, TENANTS, async (rig) => {
      const { port } = await rig.another(["--workers", "2"])
      const workers = { ...rig.ours, port }
      await pushed(rig, workers, { what: "payout", seconds: 20, count: 3000, ahead: 3000 })
      const pairs: Array<readonly [number, number]> = []
      for (let round = 0; round < rounds; round++) {
        const one = perSecond(await pushed(rig, rig.ours, { what: "payout", seconds }))
        const two = perSecond(await pushed(rig, workers, { what: "payout", seconds }))
        pairs.push([two, one])
      }
      return {
        ours: median(pairs.map(([two]) => two)),
        theirs: median(pairs.map(([, one]) => one)),
        ratio: median(pairs.map(([two, one]) => two / one)),
        unit: "payouts/s",
        details: { rounds: pairs }
      }
    })
}
