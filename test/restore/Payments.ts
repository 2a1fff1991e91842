import { type Key, send } from "../chaos/Client.ts"
import { type Operation, perform } from "../chaos/Load.ts"
import { each } from "../chaos/Settling.ts"
import type { Address } from "../chaos/Stage.ts"
import type { Random } from "../support/Random.ts"

// What tenants do before the loss and after it.

export type Any = () => Address

interface Loading {
  readonly random: Random
  readonly tenants: ReadonlyArray<Key>
  readonly any: Any
  readonly clients: number
  /** Until it is over. */
  readonly disturb: () => Promise<void>
}

/** Payouts and charges of every client, and when each was answered. */
export const load = async ({ any, clients, disturb, random, tenants }: Loading) => {
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
  const ended = disturb().finally(() => {
    over = true
  })
  await Promise.all([ended, ...Array.from({ length: clients }, client)])
  return { operations, answeredAt }
}

/** Each with a number of its own, where it succeeds. */
export const planned = (tenant: Key, kind: Operation["kind"], made: number): Operation => {
  const party = { type: "momo", msisdn: `256${10_000 + (made % 90_000)}1000`, network: "MTN", country: "UG" }
  const amount = 500 + (made % 2000)
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

/** The code of each refusal, or the reference that was answered. */
export const repeated = async (operations: ReadonlyArray<Operation>, any: Any): Promise<ReadonlyArray<string>> => {
  const answers: Array<string> = []
  await each(operations, async (one) => {
    const target = one.kind === "payout" ? "/v1/payouts" : "/v1/collections"
    const answer = await send(any(), one.tenant, { method: "POST", target, body: one.body, idempotencyKey: one.key })
    const named = answer?.body.data?.["reference"] ?? answer?.body.error?.details["reference"]
    if (typeof named === "string" && one.settled === undefined) {
      one.reference = named
      one.settled = "accepted"
    }
    answers.push(typeof named === "string" ? named : (answer?.body.error?.code ?? "not at all"))
  })
  return answers
}
