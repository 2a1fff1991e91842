import { Effect } from "effect"
import { gateway } from "../../test/commands/Gateway.ts"
import { type Key, type Request, send } from "../chaos/Client.ts"
import type { Operation } from "../chaos/Load.ts"
import type { Address, Stage } from "../chaos/Stage.ts"
import { kinds, type ReceiverKind } from "./Kinds.ts"
import { openReceiver, type Receiver } from "./Receiver.ts"

export const EVENT_TYPES = ["payout.pending", "payout.successful"] as const
const CREDIT = 1_000_000_000
const DRIP_MS = 1_000
const MADE_AT_ONCE = 4

/** Has a receiver of its own kind, and payouts that it wants. */
export interface Tenant {
  readonly key: Key
  readonly receiver: Receiver
  readonly operations: ReadonlyArray<Operation>
}

/** One of every kind, with `share` payouts each. */
export const givenTenants = async (stage: Stage, share: number): Promise<ReadonlyArray<Tenant>> => {
  const tenants: Array<Tenant> = []
  await each(
    [...kinds.entries()],
    MADE_AT_ONCE,
    async ([index, kind]) => void tenants.push(await givenTenant(stage, share, index, kind))
  )
  return tenants
}

const givenTenant = async (stage: Stage, share: number, index: number, kind: ReceiverKind): Promise<Tenant> => {
  const appId = `receiver-${index}`
  // In this process: a command's own start takes longer than what it does.
  const must = async (...args: ReadonlyArray<string>): Promise<Readonly<Record<string, string>>> => {
    const { code, errors, output } = await Effect.runPromise(gateway(stage.variables, ...args, "--json"))
    if (code !== 0) throw new Error(`gateway ${args.join(" ")}: ${errors}`)
    return JSON.parse(output)
  }
  await must("tenant", "create", appId)
  const { api_key = "", key_id = "", signing_secret = "" } = await must("key", "issue", appId, "--mode", "live")
  const key = { app_id: appId, api_key, key_id, signing_secret }
  const money = ["--currency", "UGX", "--amount-minor", String(CREDIT)]
  await must("float", "credit", appId, "--mode", "live", ...money, "--external-id", "given", "--note", "given")
  const receiver = await openReceiver(kind, DRIP_MS)
  const put = await send(stage.gateways[0], key, {
    method: "PUT",
    target: "/v1/webhooks/endpoint",
    body: { url: receiver.url, events: EVENT_TYPES }
  })
  if (put?.status !== 200) throw new Error(`the endpoint of ${kind.name} was not set`)
  receiver.learn(String(put.body.data?.["secret"]))
  return { key, receiver, operations: Array.from({ length: share }, (_, made) => payout(key, index, made)) }
}

const payout = (tenant: Key, index: number, made: number): Operation => {
  const msisdn = `2567${String(made % 10_000).padStart(4, "0")}1000`
  const destination = { type: "momo", msisdn, network: "MTN", country: "UG" }
  const amount = 500 + made
  return {
    tenant,
    kind: "payout",
    ending: "1000",
    amount,
    key: `receiver-${index}-${made}`,
    body: { amount_minor: amount, currency: "UGX", country: "UG", method: "momo", destination, metadata: { made } },
    attempts: 0,
    reference: undefined,
    settled: undefined
  }
}

/** With its own calls only: the endpoint enabled again where it was disabled, which is answered, and what is parked asked for again. */
export const repair = async ({ key, receiver }: Tenant, any: () => Address, since: string): Promise<boolean> => {
  const standing = await call(key, any, { method: "GET", target: "/v1/webhooks/endpoint" })
  const wasDisabled = standing?.["enabled"] === false
  if (wasDisabled) {
    await call(key, any, {
      method: "PUT",
      target: "/v1/webhooks/endpoint",
      body: { url: receiver.url, events: EVENT_TYPES }
    })
    // What happened while it was disabled has no delivery yet.
    await recover(key, any, since)
  }
  const list = await call(key, any, { method: "GET", target: "/v1/webhooks/deliveries?limit=100&status=parked" })
  const { items = [] }: { items?: ReadonlyArray<{ id: string }> } = JSON.parse(JSON.stringify(list ?? {}))
  for (const { id } of items) await call(key, any, { method: "POST", target: `/v1/webhooks/deliveries/${id}/redeliver` })
  return wasDisabled
}

/** Whether it was answered. */
export const recover = async (key: Key, any: () => Address, since: string): Promise<boolean> =>
  (await call(key, any, { method: "POST", target: "/v1/webhooks/recover", body: { since } })) !== undefined

/** Undefined where no answer came. A refusal is a mistake of these calls, which must not look like an event that was lost. */
const call = async (key: Key, any: () => Address, request: Request) => {
  const { method, target } = request
  const answer = await send(any(), key, request)
  if (answer !== undefined && answer.status !== 200 && answer.status < 500)
    throw new Error(`${method} ${target} is answered ${answer.status} ${answer.body.error?.code}`)
  return answer?.status === 200 ? answer.body.data : undefined
}

export const each = async <A>(all: ReadonlyArray<A>, atOnce: number, work: (one: A) => Promise<void>): Promise<void> => {
  const waiting = all.values()
  const worker = async () => {
    for (const one of waiting) await work(one)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
