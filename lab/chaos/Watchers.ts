import { setTimeout as pause } from "node:timers/promises"
import type { Random } from "../../test/support/Random.ts"
import { type Answer, type Key, send } from "./Client.ts"
import type { Recorder } from "./History.ts"
import type { Operation } from "./Load.ts"
import type { Address } from "./Stage.ts"

const WATCHERS = 3
const PAUSE_MS = 25
/** Of what is looked at: what moves at the moment, and what has been at rest for longer. */
const RECENT = 40

interface Watching {
  readonly operations: ReadonlyArray<Operation>
  readonly tenants: readonly [Key, ...ReadonlyArray<Key>]
  /** Any of the gateways. */
  readonly any: () => Address
  readonly random: Random
  readonly recorder: Recorder
  readonly isOver: () => boolean
}

/** Clients that read and repeat what others have asked for, on any node, until it is over. */
export const watch = async (watching: Watching): Promise<void> => {
  const watcher = async () => {
    while (!watching.isOver()) {
      await lookOnce(watching)
      await pause(PAUSE_MS)
    }
  }
  await Promise.all(Array.from({ length: WATCHERS }, watcher))
}

const lookOnce = async ({ any, operations, random, recorder, tenants }: Watching): Promise<void> => {
  const what = random.below(10)
  if (what === 0) {
    const tenant = random.pick(tenants)
    const { answer, interval } = await timed(send(any(), tenant, { method: "GET", target: "/v1/float" }))
    return recorder.position(interval, tenant.app_id, answer)
  }
  const back = random.chance(0.8) ? RECENT : operations.length
  const operation = operations[operations.length - 1 - random.below(Math.max(1, Math.min(back, operations.length)))]
  if (operation === undefined) return
  const { body, key, kind, reference, settled, tenant } = operation
  if (what < 3 && settled !== undefined) {
    const request = { method: "POST", target: `/v1/${kind}s`, body, idempotencyKey: key }
    const { answer, interval } = await timed(send(any(), tenant, request))
    recorder.answer(interval, operation, answer)
  } else if (reference !== undefined) {
    const { answer, interval } = await timed(send(any(), tenant, { method: "GET", target: `/v1/${kind}s/${reference}` }))
    recorder.look(interval, answer)
  }
}

/** Begun just before this is called. */
const timed = async (asking: Promise<Answer | undefined>) => {
  const begun = performance.now()
  const answer = await asking
  return { answer, interval: { begun, ended: performance.now() } }
}
