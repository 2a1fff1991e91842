import { setTimeout as pause } from "node:timers/promises"
import { PROMOTED } from "../chaos/Failovers.ts"
import { apart, between } from "./Faults.ts"
import type { Scene } from "./Scene.ts"

// Two servers that both take themselves for the primary, on purpose. The old one keeps two gateways, and tenants who still reach them; the new one
// has the third. Then the network is whole again, and only later somebody ends the old primary. Behind HAProxy, which would lead to both, the old
// one is alone, and ended before the network is whole.

const APART_MS = 10_000
const BOTH_MS = 3_000
/** What the old primary acknowledged alone: it waits for a standby that follows it no more. */
const ALONE = "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

export interface Split {
  /** Commits that the old primary had under way, and did not acknowledge, at the end of the split. */
  readonly waiting: number
  /** Whether the third gateway had a 201 meanwhile. */
  readonly isServed: boolean
}

/** `created` answers when the next 201 arrives. Ends with the other server as the primary. */
export const splitBrain = async (
  { gateways: [one, two, three], isBehindProxy, members: [primary, standby], network }: Scene,
  created: () => Promise<void>
): Promise<Split> => {
  const [old, fresh] = [network.host(`server-${primary.name}`), network.host(`server-${standby.name}`)]
  await created()
  const mends = isBehindProxy
    ? [await apart([old], [fresh, network.host("haproxy")])]
    : [await apart([old, one, two], [fresh]), await between.cut(three, old)]
  await standby.sql(PROMOTED)
  const isServed = await Promise.race([created().then(() => true), pause(APART_MS).then(() => false)])
  await pause(APART_MS)
  const [row] = await primary.sql(ALONE)
  if (isBehindProxy) primary.kill()
  for (const mend of mends) await mend()
  await pause(BOTH_MS)
  primary.kill()
  await primary.follow(standby)
  await standby.awaitCommitsOf(primary)
  return { waiting: Number(row?.["waiting"]), isServed }
}
