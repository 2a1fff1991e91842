import type { Cluster } from "../Cluster.ts"
import { cpuSeconds, databaseCpuSeconds } from "../Processes.ts"
import type { Outcome, Task } from "./Generator.ts"
import { faultless, openOurs, openStand, openTheirs, type Side, type Stand } from "./Sides.ts"

/** Both services on one cluster with the same tenants, the same provider and the same load. */
export interface Rig {
  readonly stand: Stand
  readonly ours: Side
  readonly theirs: Side
  /** One more gateway on the database of `ours`. */
  readonly another: () => Promise<Pick<Side, "port" | "pid">>
}

/** What is compiled and planned only after a while is so before anything counts. */
const WARM_UP_PAYOUTS = 1500
const WARM_UP_SECONDS = 20
export const CONNECTIONS = 64
/** More than any side answers in a second. */
const SIGNED_AHEAD_A_SECOND = 2500

export const withRig = async <A>(cluster: Cluster, tenants: number, use: (rig: Rig) => Promise<A>): Promise<A> => {
  const closing: Array<() => Promise<void>> = []
  try {
    const stand = await openStand()
    closing.unshift(stand.close)
    const ours = await openOurs(cluster, stand, { tenants })
    closing.unshift(ours.stop)
    const theirs = await openTheirs(cluster, stand, ours.keys)
    closing.unshift(theirs.stop)
    const rig = { stand, ours, theirs, another: ours.another }
    for (const side of [ours, theirs])
      await pushed(rig, side, { what: "payout", count: WARM_UP_PAYOUTS, seconds: WARM_UP_SECONDS, ahead: WARM_UP_PAYOUTS })
    return await use(rig)
  } finally {
    for (const close of closing) await close()
  }
}

/** One round; an answer that is not a success ends the part. */
export const pushed = async (
  { stand }: Pick<Rig, "stand">,
  side: Pick<Side, "port" | "keys">,
  task: Partial<Task> & Pick<Task, "what" | "seconds">
): Promise<Outcome> =>
  faultless(
    await stand.load({
      ports: [side.port],
      keys: side.keys,
      connections: CONNECTIONS,
      ahead: Math.ceil(task.seconds * (task.rate ?? SIGNED_AHEAD_A_SECOND)),
      ...task
    })
  )

export const perSecond = ({ answered, seconds }: Outcome): number => answered / seconds

/** Milliseconds of processor time that one request of a round took in the service and in the database: what others do is not in them. */
export const costOf = async (side: Pick<Side, "pid" | "database">, round: () => Promise<Outcome>) => {
  const used = () => [cpuSeconds(side.pid), databaseCpuSeconds(side.database.url)] as const
  const before = used()
  const outcome = await round()
  const after = used()
  const each = (since: number, until: number) => (1000 * (until - since)) / outcome.answered
  return { outcome, cpuMs: each(before[0], after[0]), databaseMs: each(before[1], after[1]) }
}
