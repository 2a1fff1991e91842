import { setTimeout as pause } from "node:timers/promises"
import type { Random } from "../../test/support/Random.ts"
import { type Answer, type Key, send } from "../chaos/Client.ts"
import { type Operation, perform } from "../chaos/Load.ts"
import { each } from "../chaos/Settling.ts"
import type { Address } from "../chaos/Stage.ts"
import type { Holder } from "./Holders.ts"

// What tenants do before the loss and after it.

export type Any = () => Address

/** Ghana's mobile money is what every provider serves. */
const SMALLEST = 10_000
const NUMBERS = 10_000
const ASK_AGAIN_AFTER_MS = 1_000
const ASKED_AT_MOST = 60

interface Loading {
  readonly random: Random
  readonly holders: ReadonlyArray<Holder>
  readonly any: Any
  readonly clients: number
  /** Until that is over: when the server was lost. */
  readonly untilLost: () => Promise<number>
}

/** Payouts and charges of every client until the server is lost, and when each was answered. */
export const load = async ({ any, clients, holders, random, untilLost }: Loading) => {
  const operations: Array<Operation> = []
  const answeredAt = new Map<string, number>()
  const visits: Array<Promise<void>> = []
  let over = false
  const isOver = () => over
  const client = async () => {
    while (!isOver()) {
      const holder = holders[random.below(holders.length)]
      if (holder === undefined) throw new Error("no tenant")
      const one = planned(holder.key, random.pick(holder.kinds), operations.length)
      operations.push(one)
      await perform(one, any, isOver, (_begun, answer) => {
        if (answer?.status !== 201) return
        answeredAt.set(one.key, performance.now())
        visits.push(visited(answer))
      })
    }
  }
  const ended = untilLost().finally(() => {
    over = true
  })
  const [lostAt] = await Promise.all([ended, ...Array.from({ length: clients }, client)])
  await Promise.all(visits)
  return { operations, answeredAt, lostAt }
}

/** The payer finishes on the provider's page, where there is one. */
const visited = async ({ text }: Answer): Promise<void> => {
  const action: { redirect_url?: string } | null = JSON.parse(text).data?.next_action ?? null
  if (action?.redirect_url !== undefined) await fetch(action.redirect_url, { redirect: "manual" }).catch(() => undefined)
}

/** Each with a number of its own, which succeeds, and an amount of its own. */
export const planned = (tenant: Key, kind: Operation["kind"], made: number): Operation => {
  const own = String(made % NUMBERS).padStart(4, "0")
  const party = { type: "momo", msisdn: `23324${own.slice(0, 3)}${own.slice(3)}000`, network: "MTN", country: "GH" }
  const amount = SMALLEST + made
  const terms = { amount_minor: amount, currency: "GHS", country: "GH", method: "momo", metadata: { made } }
  const back = { redirect_url: "https://shop.example/back" }
  const body = kind === "payout" ? { ...terms, destination: party } : { ...terms, ...back, source: party }
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

const FROZEN = "tenant_frozen"
/** What a key says whose transaction was forgotten and booked by hand. */
export const BOOKED = "indeterminate_outcome"

export interface Repeated {
  readonly operation: Operation
  /** Undefined where it was taken. */
  readonly code: string | undefined
  readonly reference: string | undefined
}

/** What each was answered; a key whose claim is remembered is asked for until its lease is over. */
export const repeated = async (operations: ReadonlyArray<Operation>, any: Any): Promise<ReadonlyArray<Repeated>> => {
  const answers: Array<Repeated> = []
  const repeat = async (one: Operation) => {
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
    const reference = typeof named === "string" ? named : undefined
    answers.push({ operation: one, code: answer === undefined ? "no answer" : answer.body.error?.code, reference })
  }
  await each(operations, repeat)
  return answers
}

/** Who is frozen is told so, but for what the database remembers; everybody else gets the first reference. */
export const wrongAnswers = (
  answers: ReadonlyArray<Repeated>,
  isFrozen: (operation: Operation) => boolean,
  known: ReadonlySet<string>
): ReadonlyArray<string> =>
  answers.flatMap(({ code, operation, reference }) => {
    const isRight = isFrozen(operation)
      ? code === FROZEN || known.has(reference ?? "")
      : reference !== undefined && reference === operation.reference
    return isRight ? [] : [`a repeat of ${operation.key} was answered ${code ?? reference}`]
  })
