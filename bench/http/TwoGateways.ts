import { median, type Part } from "../Report.ts"
import { perSecond, pushed, withRig } from "./Rig.ts"

const TENANTS = 64
const WARM_UP_PAYOUTS = 1500

/** Every process of a run shares the machine's cores: where there are no more than two, a second one finds none that is free. */
export const twoGateways: Part = {
  name: "two-gateways",
  against: "one gateway, on the same database and machine",
  target: 1,
  run: (cluster, { rounds, secondsARound: seconds }) =>
    withRig(cluster, TENANTS, async (rig) => {
      const { another, ours } = rig
      const { port } = await another()
      const ports = [ours.port, port]
      await pushed(rig, ours, { what: "payout", seconds: 20, count: WARM_UP_PAYOUTS, ahead: WARM_UP_PAYOUTS, ports: [port] })
      const pairs: Array<readonly [number, number]> = []
      for (let round = 0; round < rounds; round++) {
        const one = perSecond(await pushed(rig, ours, { what: "payout", seconds }))
        const two = perSecond(await pushed(rig, ours, { what: "payout", seconds, ports }))
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
