import { setTimeout as pause } from "node:timers/promises"
import { type Key, send } from "../chaos/Client.ts"
import { type Operation, perform } from "../chaos/Load.ts"
import { each } from "../chaos/Settling.ts"
import type { Address } from "../chaos/Stage.ts"
import type { Random } from "../support/Random.ts"

// What tenants do before the loss and after it.

export type Any = () => Address

const ASK_AGAIN_AFTER_MS = 1_000
const ASKED_AT_MOST = 60

interface Loading {
  readonly random: Random
  readonly tenants: ReadonlyArray<Key>
  readonly any: Any
  readonly clients: number
  /** Until that is over: when the server was lost. */
  readonly untilLost: () => Promise<number>
}

/** Payouts and charges of every client until the server is lost, and when each was answered. */
export const load = async ({ any, clients, random, tenants, untilLost }: Loading) => {
  const operations: Array<Operation> = []
  const answeredAt = new Map<string, number>()
  let over = false
  const isOver = () => over
  const client = async () => {
    while (!isOver()) {
      const tenant = tenants[random.below(tenants.length)]
      if (tenant === undefined) throw new Error("no tenant")
      const one = planned(tenant, random.chance(0.6) ? "payout" : "collection", operations.length)
      operations.push(one)
      await perform(one, any, isOver, (_begun, answer) => {
        if (answer?.status === 201) answeredAt.set(one.key, performance.now())
      })
    }
  }
  const ended = untilLost().finally(() => {
    over = true
  })
  const [lostAt] = await Promise.all([ended, ...Array.from({ length: clients }, client)])
  return { operations, answeredAt, lostAt }
}

/** Each with a number of its own, which succeeds, and an amount of its own. */
export const planned = (tenant: Key, kind: Operation["kind"], made: number): Operation => {
  const party = { type: "momo", msisdn: `256${10_000 + (made % 90_000)}1000`, network: "MTN", country: "UG" }
  const amount = 500 + made
  const terms = { amount_minor: amount, currency: "UGX", country: "UG", method: "momo", metadata: { made } }
  const body = kind === "payout" ? { ...terms, destination: party } : { ...terms, source: party }
  return {
    tenant,
    kind,
    ending: "1000",
    amount,
    key: `restore-${made}`,
    body,
    attempts: 0,
    reference: undefined,
    settled: undefined
  }
}

/** The code of each refusal, or the reference that was answered; a key whose claim is remembered is asked for until its lease is over. */
export const repeated = async (operations: ReadonlyArray<Operation>, any: Any): Promise<ReadonlyArray<string>> => {
  const answers: Array<string> = []
  await each(operations, async (one) => {
    const target = one.kind === "payout" ? "/v1/payouts" : "/v1/collections"
    const request = { method: "POST", target, body: one.body, idempotencyKey: one.key }
    let answer = await send(any(), one.tenant, request)
    for (let asked = 1; answer?.body.error?.code === "request_in_progress" && asked < ASKED_AT_MOST; asked++) {
      await pause(ASK_AGAIN_AFTER_MS)
      answer = await send(any(), one.tenant, request)
    }
    const named = answer?.body.data?.["reference"] ?? answer?.body.error?.details["reference"]
    if (typeof named === "string" && one.settled === undefined) {
      one.reference = named
      one.settled = "accepted"
    }
    answers.push(typeof named === "string" ? named : (answer?.body.error?.code ?? "not at all"))
  })
  return answers
}
