import type { Cluster } from "../Cluster.ts"
import { type Child, program } from "../http/Child.ts"
import { openOurs, portOf, type Side, type Stand } from "../http/Sides.ts"

const TENANTS = 32
const DELIVERED_WITHIN_MS = 120_000

/** An event as a payout's end makes it. */
export const eventBody = JSON.stringify({
  id: "0123456789ABCDEFGHJKMNPQRS",
  type: "payout.successful",
  api_version: "v1",
  timestamp: "2026-01-01T00:00:00.000Z",
  app_id: "bench-0",
  is_test_mode: false,
  data: { reference: "0123456789ABCDEFGHJKMNPQRS", status: "successful", filler: "x".repeat(900) }
})

/** A receiver that takes everything at once, and a gateway whose tenants all have it as their endpoint. */
export const openOutgoing = async (cluster: Cluster, stand: Stand, node: ReadonlyArray<string> = []) => {
  const receiver = await program("../webhooks/Receiver.ts")
  const origin = `http://127.0.0.1:${portOf(receiver.first)}`
  const ours = await openOurs(cluster, stand, { tenants: TENANTS, receiverUrl: `${origin}/hook`, node })
  let fallen = 0
  return {
    ...ours,
    origin,
    /** Begins, and ends when so many events were received. */
    received: (count: number, begin: () => Promise<void>) => allReceived(receiver.child, count, begin),
    /** Events a second from when they are all due to when the last was received. */
    delivered: (count: number) => eventsASecond(receiver.child, count, () => fallDue(ours, count, fallen++)),
    /** The same for who posts them by himself. */
    posted: (count: number, begin: () => void) => eventsASecond(receiver.child, count, async () => begin()),
    stop: async () => {
      await ours.stop()
      await receiver.child.stop()
    }
  }
}

const eventsASecond = async (receiver: Child, count: number, begin: () => Promise<void>): Promise<number> => {
  let startedAt = Number.NaN
  await allReceived(receiver, count, async () => {
    await begin()
    startedAt = performance.now()
  })
  return count / ((performance.now() - startedAt) / 1000)
}

const allReceived = async (receiver: Child, count: number, begin: () => Promise<void>): Promise<void> => {
  receiver.process.send(count)
  const all = new Promise<void>((done, failed) => {
    const late = setTimeout(() => failed(new Error(`not all of ${count} events arrived`)), DELIVERED_WITHIN_MS)
    receiver.process.once("message", () => {
      clearTimeout(late)
      done()
    })
  })
  await Promise.all([all, begin()])
}

/** As many events as one commit of payouts' ends would leave, spread over the tenants; they are there for the gateway from the commit on. */
const fallDue = async ({ database }: Side, count: number, batch: number): Promise<void> => {
  await database.query(
    `WITH told AS (
      INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
      SELECT 'bench-' || n % $2, upper(left(md5($3 || '/' || n), 26)), 'live', 'payout.successful', NULL, $4, now()
      FROM generate_series(1, $1::int) AS n
      RETURNING app_id, id, mode, created_at
    ), queued AS (
      INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
      SELECT app_id, id, mode, id, 'due', created_at, created_at FROM told RETURNING *
    )
    INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at) SELECT app_id, mode, next_attempt_at, id, created_at FROM queued`,
    [count, TENANTS, String(batch), eventBody]
  )
}
