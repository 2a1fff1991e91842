import { setTimeout as pause } from "node:timers/promises"
import type { Random } from "../../../test/support/Random.ts"
import { type Key, send } from "../Client.ts"
import type { Books } from "./Books.ts"
import type { Operation, World } from "./Load.ts"
import type { Command, Holder } from "./Tenants.ts"

// What operators do meanwhile, by commands: rulings, keys, freezes, limits, ceilings and corridors.

const RULE_EVERY_MS = 3_000
const CHANGE_EVERY_MS = 4_000
const LASTS_MS = 4_000
/** Within a second every node follows; the rest is for a node that lost its database at that moment. */
const FOLLOWED_WITHIN_MS = 2_000
const REVOKED_WITHIN_MS = 1_000
const AGAIN_AFTER_MS = 300

/** A time in which nothing that it forbids may begin. */
export interface Gate {
  readonly name: string
  readonly from: number
  to: number
  readonly forbids: (operation: Operation) => boolean
}

export interface Changes {
  readonly gates: ReadonlyArray<Gate>
  readonly faults: ReadonlyArray<string>
  readonly keysRevoked: number
  /** How often a revoked key was tried, and answered 401. */
  readonly revokedRefused: number
  readonly freezes: number
  readonly settings: number
  readonly rulings: number
}

interface Operating {
  readonly command: Command
  readonly holders: readonly [Holder, ...ReadonlyArray<Holder>]
  readonly world: World
  readonly books: Books
  readonly random: Random
  readonly isOver: () => boolean
}

/** Until it is over; every change is taken back. */
export const operate = async ({ books, command, holders, isOver, random, world }: Operating): Promise<Changes> => {
  const gates: Array<Gate> = []
  const faults: Array<string> = []
  const counts = { keysRevoked: 0, revokedRefused: 0, freezes: 0, settings: 0, rulings: 0 }
  const must: Command = (...args) => insist(() => command(...args))

  const changeKey = async () => {
    const holder = random.pick(holders)
    const before = holder.key
    holder.key = JSON.parse(await must("key", "issue", holder.appId, "--mode", holder.mode))
    await revoke(command, before)
    counts.keysRevoked++
    await pause(REVOKED_WITHIN_MS)
    const tried = await tryRevoked(before, world)
    counts.revokedRefused += tried.refused
    faults.push(...tried.faults)
  }
  const freeze = async () => {
    const { appId } = random.pick(holders)
    await must("tenant", "freeze", appId, "--reason", "chaos")
    counts.freezes++
    const gate = open(gates, `the tenant ${appId} was frozen`, ({ holder }) => holder.appId === appId)
    await pause(LASTS_MS / 2)
    gate.to = performance.now()
    await must("tenant", "unfreeze", appId, "--reason", "chaos is over")
  }
  const change = async () => {
    const { appId, mode, name } = random.pick(holders)
    const {
      provider,
      way: { country, currency: played }
    } = random.pick(holders)
    const limit = ["limit", "set", appId, "--mode", mode, "--direction", "payout", "--window", "hour", "--count"]
    const corridor = ["corridor", "set", country, played, "collection", "momo", "--active"]
    const ceiling = ["ceiling", "set", provider, played, "--amount-minor"]
    const [args, closing, opening, forbids] = random.pick<Setting>([
      [limit, ["0"], ["100000000"], ({ holder, kind }) => kind === "payout" && holder.name === name],
      [
        corridor,
        ["false", "--inactive-reason", "chaos"],
        ["true"],
        ({ currency, kind }) => kind === "collection" && currency === played
      ],
      [
        ceiling,
        ["1"],
        ["100000000000"],
        ({ currency, holder, kind }) => kind === "payout" && currency === played && holder.provider === provider
      ]
    ])
    await must(...args, ...closing)
    counts.settings++
    await pause(FOLLOWED_WITHIN_MS)
    const gate = open(gates, `${args.join(" ")} ${closing.join(" ")}`, forbids)
    await pause(LASTS_MS)
    gate.to = performance.now()
    await must(...args, ...opening)
  }
  const again = async (work: () => Promise<void>, everyMs: number) => {
    while (!isOver()) {
      await work()
      await pause(everyMs)
    }
  }
  const ruling = async () => {
    counts.rulings += await rule(command, books).catch(() => 0)
  }
  await Promise.all([
    again(ruling, RULE_EVERY_MS),
    again(changeKey, CHANGE_EVERY_MS),
    again(freeze, CHANGE_EVERY_MS),
    again(change, CHANGE_EVERY_MS)
  ])
  return { gates, faults, ...counts }
}

type Setting = readonly [
  args: ReadonlyArray<string>,
  closing: ReadonlyArray<string>,
  opening: ReadonlyArray<string>,
  forbids: Gate["forbids"]
]

const open = (gates: Array<Gate>, name: string, forbids: Gate["forbids"]): Gate => {
  const gate = { name, from: performance.now(), to: Number.POSITIVE_INFINITY, forbids }
  gates.push(gate)
  return gate
}

/** What was first sent after a gate had closed, and was made before it opened again. */
export const passed = (gates: ReadonlyArray<Gate>, operations: ReadonlyArray<Operation>): ReadonlyArray<string> =>
  gates.flatMap(({ forbids, from, name, to }) =>
    operations.flatMap((operation) =>
      operation.begun > from && operation.created !== undefined && operation.created < to && forbids(operation)
        ? [`${operation.reference}: ${operation.key} was made while ${name}`]
        : []
    )
  )

/** The database may be away for a while. */
const insist = async <A>(work: () => Promise<A>): Promise<A> => {
  for (;;) {
    const done = await work().then(
      (value) => ({ value }),
      () => undefined
    )
    if (done !== undefined) return done.value
    await pause(AGAIN_AFTER_MS)
  }
}

/** Once more is refused, where the answer to an earlier attempt was lost. */
const revoke = (command: Command, { app_id, key_id }: Key) =>
  insist(() =>
    command("key", "revoke", app_id, key_id).catch((error: unknown) => {
      if (!String(error).includes("revoked")) throw error
    })
  )

const TRIES = 4

/** It answers nothing and moves nothing. */
const tryRevoked = async (key: Key, { any }: World) => {
  const faults: Array<string> = []
  let refused = 0
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const party = { type: "momo", msisdn: "233244999999", network: "MTN", country: "GH" }
    const body = { amount_minor: 501, currency: "GHS", country: "GH", method: "momo", destination: party }
    const request = { method: "POST", target: "/v1/payouts", body, idempotencyKey: `revoked-${key.key_id}` }
    const answer = await send(any(), key, attempt % 2 === 0 ? { method: "GET", target: "/v1/float" } : request)
    if (answer?.status === 401) refused++
    else if (answer !== undefined && answer.status < 300)
      faults.push(`${key.key_id}: answered ${answer.status} after it was revoked`)
  }
  return { faults, refused }
}

interface Case {
  readonly reference: string
  readonly kind: Operation["kind"]
  readonly revision: string | number
}

/** A person rules by what the provider's own account says; where that says nothing yet, the case waits. */
export const rule = async (command: Command, books: Books): Promise<number> => {
  const cases: ReadonlyArray<Case> = JSON.parse(await command("review", "list"))
  if (cases.length > 0) books.refresh()
  let ruled = 0
  for (const { kind, reference, revision } of cases) {
    const { executions, movements } = books.of(reference)
    const movement = movements.find((one) => one.kind === kind)
    const isExecuted = executions.some(({ direction }) => direction === kind)
    if (movement === undefined || movement.status === "pending") continue
    const figures = kind === "exchange" ? [] : ["--amount-minor", String(movement.amount), "--fee-minor", String(movement.fee)]
    const outcome = isExecuted && !movement.returned ? ["successful", ...figures] : ["failed"]
    const words = ["--evidence", "the provider's account", "--seen", String(revision)]
    const said = await command("review", "resolve", reference, "--outcome", ...outcome, ...words).catch(() => undefined)
    if (said !== undefined) ruled++
  }
  return ruled
}
