import { setTimeout as pause } from "node:timers/promises"
import type { Random } from "../../../test/support/Random.ts"
import { type Answer, send } from "../Client.ts"
import type { Address } from "../Stage.ts"
import type { Way } from "./Accounts.ts"
import type { Holder } from "./Tenants.ts"

export type OperationKind = "payout" | "collection" | "exchange"

/** What a payer does with a code: sends the right one, a wrong one first, the right one to two nodes at once, or none. */
const codePlans = ["right", "wrong first", "twice at once", "never"] as const

/** One money operation as its tenant sees it: what was wanted, and what was answered in the end. */
export interface Operation {
  readonly holder: Holder
  readonly kind: OperationKind
  readonly currency: string
  /** Chosen by a number; an exchange's is the next one's at the provider, whosever it is. */
  readonly ending: string
  readonly amount: number
  readonly key: string
  /** Of an exchange: without the quote that it needs first. */
  readonly body: Readonly<Record<string, unknown>>
  readonly code: (typeof codePlans)[number]
  attempts: number
  /** By the clock of this process: when it was first sent, and when it was first answered by 201. */
  begun: number
  created: number | undefined
  reference: string | undefined
  settled: "accepted" | "refused" | undefined
  /** The code of the last error. */
  error: string | undefined
  readonly faults: Array<string>
}

const ordinary = Array<string>(20).fill("")
/** Of the simulated providers: an ordinary success, and every other ending. */
const endings = [...ordinary, ...Array.from({ length: 17 }, (_, at) => String(at + 1).padStart(4, "0"))]
const FIRST_ORDINARY = 1000
const ORDINARY = 9000
/** Where payers say codes. */
const UGANDA = { country: "UG", currency: "UGX", network: "MTN", prefixes: ["25677"], step: 1 } as const
const BLOCK = 1000
const LEAST = 500
const SPREAD = 2000
/** Of a currency whose wholes are moved: the least that M-Pesa pays out. */
const LEAST_UNITS = 10

/** An endless sequence of operations. */
export const planner = (random: Random, holders: readonly [Holder, ...ReadonlyArray<Holder>], part: string) => {
  let made = 0
  const used = new Map<string, number>()
  const numberOf = (ending: string, { prefixes }: Pick<Way, "prefixes">) => {
    const last = ending === "" ? String(FIRST_ORDINARY + random.below(ORDINARY)) : ending
    const name = `${prefixes[0]} ${last}`
    const at = used.get(name) ?? 0
    used.set(name, at + 1)
    const prefix = prefixes[Math.floor(at / BLOCK) % prefixes.length] ?? prefixes[0]
    return `${prefix}${String(at % BLOCK).padStart(3, "0")}${last}`
  }
  return (): Operation => {
    made++
    const holder = random.pick(holders)
    const drawn = LEAST + random.below(SPREAD)
    const ending = endings[random.below(endings.length)] ?? ""
    const isUganda = holder.currencies.includes("UGX") && random.chance(0.5)
    const kind = random.chance(0.55) ? "payout" : "collection"
    const shared = { holder, ending, key: `${part}-${made}`, attempts: 0, begun: 0, created: undefined }
    const open = {
      reference: undefined,
      settled: undefined,
      error: undefined,
      faults: [],
      code: codePlans[random.below(4)] ?? "right"
    }
    if (holder.currencies.length > 1 && random.chance(0.3)) {
      const from = random.below(holder.currencies.length)
      const currency = holder.currencies[from] ?? "UGX"
      const to = holder.currencies[(from + 1 + random.below(holder.currencies.length - 1)) % holder.currencies.length]
      const body = { source_currency: currency, destination_currency: to, source_amount_minor: drawn }
      return { ...shared, ...open, kind: "exchange", amount: drawn, currency, body }
    }
    const way = isUganda ? UGANDA : holder.way
    const { country, currency, network } = way
    const amount = way.step === 1 ? drawn : Math.max(LEAST_UNITS, Math.ceil(drawn / way.step)) * way.step
    const party = { type: "momo", msisdn: numberOf(ending, way), network, country }
    const terms = { amount_minor: amount, currency, country, method: "momo", metadata: { made } }
    const redirect = isUganda ? {} : { redirect_url: "https://shop.example/back" }
    const body = kind === "payout" ? { ...terms, destination: party } : { ...terms, source: party, ...redirect }
    return { ...shared, ...open, kind, amount, currency, body }
  }
}

export interface World {
  /** The proxy, or any of the gateways. */
  readonly any: () => Address
  readonly random: Random
  readonly isOver: () => boolean
  readonly simulatorUrl: string
}

const PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000
const ATTEMPTS_AT_MOST = 400
const PAGE_WITHIN_MS = 1_000

export const readTarget = ({ kind, reference }: Operation): string =>
  kind === "exchange" ? `/v1/fx/exchanges/${reference}` : `/v1/${kind}s/${reference}`

/** Sends it with its one key until an answer settles it, and does then what its payer has to do. */
export const perform = async (operation: Operation, world: World): Promise<void> => {
  const { holder, key, kind } = operation
  const body = kind === "exchange" ? await quoted(operation, world) : operation.body
  if (body === undefined) return
  const target = kind === "exchange" ? "/v1/fx/exchange" : `/v1/${kind}s`
  if (operation.begun === 0) operation.begun = performance.now()
  for (let attempt = 0; attempt < ATTEMPTS_AT_MOST; attempt++) {
    operation.attempts++
    const answer = await send(world.any(), holder.key, { method: "POST", target, body, idempotencyKey: key })
    note(operation, answer)
    if (operation.settled !== undefined) {
      if (operation.settled === "accepted" && kind === "collection") await finish(operation, answer, world)
      return
    }
    if (world.isOver()) return
    await pause(Math.min(PAUSE_MS * operation.attempts, LONGEST_PAUSE_MS))
  }
}

/** An exchange is of a quote, which is kept for the attempts to come; the provider is told first how the next exchange ends. */
const quoted = async (operation: Operation, { any, isOver, random, simulatorUrl }: World) => {
  const known = quotes.get(operation)
  if (known !== undefined) return known
  while (!isOver()) {
    const answer = await send(any(), operation.holder.key, { method: "POST", target: "/v1/fx/quote", body: operation.body })
    const quote_id = answer?.body.data?.["quote_id"]
    if (typeof quote_id === "string") {
      if (operation.ending !== "" && random.chance(0.7)) await chooseNext(simulatorUrl, operation.ending)
      quotes.set(operation, { quote_id })
      return { quote_id }
    }
    if (answer?.body.error?.terminal === true && answer.status !== 401) {
      operation.settled = "refused"
      operation.error = answer.body.error.code
      return undefined
    }
    await pause(PAUSE_MS)
  }
  // Nothing was ever sent for it.
  operation.settled = "refused"
  operation.error = "unquoted"
  return undefined
}

const quotes = new WeakMap<Operation, { readonly quote_id: string }>()

const chooseNext = (simulatorUrl: string, ending: string) =>
  fetch(`${simulatorUrl}/__simulator/next`, {
    method: "POST",
    body: JSON.stringify({ provider: "eversend", operation: "exchange", ending }),
    signal: AbortSignal.timeout(PAGE_WITHIN_MS)
  }).then(
    (answer) => answer.text(),
    () => ""
  )

const note = (operation: Operation, answer: Answer | undefined): void => {
  if (answer === undefined) return
  const { data, error } = answer.body
  operation.error = error?.code
  const named = data?.["reference"] ?? error?.details["reference"]
  // A guard's refusal names another charge.
  if (typeof named === "string" && error?.code !== "duplicate_charge_in_flight") {
    if (operation.reference !== undefined && operation.reference !== named)
      operation.faults.push(`the key ${operation.key} has two references: ${operation.reference} and ${named}`)
    operation.reference = named
  }
  if (answer.status === 201) {
    operation.created ??= performance.now()
    operation.settled = "accepted"
  }
  // A key was revoked: the client goes on with the new one.
  else if (answer.status === 401) return
  else if (error?.terminal === true) operation.settled = "refused"
  // Recorded and open: nothing to send again for; it is polled by its reference.
  else if (error?.ambiguous === true && operation.reference !== undefined) operation.settled = "accepted"
}

interface Action {
  readonly type: string
  readonly redirect_url?: string
  readonly pin_id?: string
}

/** The payer visits the page, or sends the code; some never do. */
const finish = async (operation: Operation, answer: Answer | undefined, world: World): Promise<void> => {
  const action = actionOf(answer) ?? actionOf(await readAgain(operation, world))
  if (action?.redirect_url !== undefined)
    await fetch(action.redirect_url, { signal: AbortSignal.timeout(PAGE_WITHIN_MS) }).then(
      (page) => page.text(),
      () => ""
    )
  if (action?.pin_id === undefined || operation.code === "never") return
  const say = (pin: string) => sayCode(operation, { pin_id: String(action.pin_id), pin }, world)
  if (operation.code === "wrong first") await say("000001")
  await Promise.all([say(RIGHT), ...(operation.code === "twice at once" ? [say(RIGHT)] : [])])
}

const RIGHT = "123456"

const actionOf = (answer: Answer | undefined): Action | undefined =>
  JSON.parse(JSON.stringify(answer?.body.data?.["next_action"] ?? null)) ?? undefined

const readAgain = (operation: Operation, { any }: World) =>
  send(any(), operation.holder.key, { method: "GET", target: readTarget(operation) })

const sayCode = async (
  operation: Operation,
  otp: { readonly pin_id: string; readonly pin: string },
  world: World
): Promise<void> => {
  const body = { authorization: { type: "otp", otp }, source: operation.body["source"] }
  const target = `/v1/collections/${operation.reference}/authorize`
  for (let attempt = 0; attempt < ATTEMPTS_AT_MOST && !world.isOver(); attempt++) {
    const answer = await send(world.any(), operation.holder.key, { method: "POST", target, body })
    const error = answer?.body.error
    if (answer?.status === 200 || error?.code === "otp_incorrect") return
    if (error?.terminal === true && answer?.status !== 401) return
    await pause(PAUSE_MS)
  }
}
