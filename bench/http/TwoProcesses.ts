import { median, type Part } from "../Report.ts"
import { perSecond, pushed, type Rig, withRig } from "./Rig.ts"

const TENANTS = 64

/** Every process of a run shares the machine's cores: where there are no more than two, a second one finds none that is free. */
const twice = (
  named: Pick<Part, "name" | "against">,
  warmUpPayouts: number,
  /** Starts what takes requests beside the one gateway; the ports of both processes together, and those to warm up. */
  begun: (rig: Rig) => Promise<{ readonly cold: number; readonly ports: ReadonlyArray<number> }>
): Part => ({
  ...named,
  target: 1,
  run: (cluster, { rounds, secondsARound: seconds }) =>
    withRig(cluster, TENANTS, async (rig) => {
      const { cold, ports } = await begun(rig)
      await pushed(rig, rig.ours, { what: "payout", seconds: 20, count: warmUpPayouts, ahead: warmUpPayouts, ports: [cold] })
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
})

export const gateways = twice(
  { name: "two-gateways", against: "one gateway, on the same database and machine" },
  1500,
  async ({ another, ours }) => {
    const { port } = await another()
    return { cold: port, ports: [ours.port, port] }
  }
)

/** `serve --workers 2`, which shares one port. */
export const workers = twice(
  { name: "two-workers", against: "one process, on the same database and machine" },
  3000,
  async ({ another }) => {
    const { port } = await another(["--workers", "2"])
    return { cold: port, ports: [port] }
  }
)
