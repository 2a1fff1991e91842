import { median, type Part } from "../Report.ts"
import { perSecond, pushed, withRig } from "./Rig.ts"

const TENANTS = 64

/** Every process of a run shares the machine's cores: where there are no more than two, a second gateway finds none that is free. */
export const part: Part = {
  name: "two-gateways",
  against: "one gateway, on the same database and machine",
  target: 1,
  run: (cluster, { rounds, secondsARound: seconds }) =>
    withRig(cluster, TENANTS, async (rig) => {
      const second = await rig.another()
      const ports = [rig.ours.port, second.port]
      await pushed(rig, rig.ours, { what: "payout", seconds: 20, count: 1500, ahead: 1500, ports: [second.port] })
      const pairs: Array<readonly [number, number]> = []
      for (let round = 0; round < rounds; round++) {
        const one = perSecond(await pushed(rig, rig.ours, { what: "payout", seconds }))
        const two = perSecond(await pushed(rig, rig.ours, { what: "payout", seconds, ports }))
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
