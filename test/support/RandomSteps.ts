import type { Exchange } from "../../src/domain/Exchange.ts"
import { AppId, type Reference, referenceFrom } from "../../src/domain/Ids.ts"
import {
  collect,
  correct,
  coveringReceivable,
  type Entry,
  exchange,
  release,
  reserve,
  returnFunds,
  settle
} from "../../src/domain/Ledger.ts"
import { minor } from "../../src/domain/Money.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import type { WindowUse } from "../../src/domain/VelocityLimits.ts"
import type { ApplyStep, OpenStep } from "../../src/services/ports/FloatLedger.ts"
import { type Books, keyName, payerName, positionName, type Stored } from "./LedgerBooks.ts"
import { hex } from "./LedgerFold.ts"
import type { Random } from "./Random.ts"
import { collection, NOON, payout } from "./SampleTransactions.ts"

// Steps of every kind, the wrong ones among them: lost claims, frozen tenants, full windows, short float, busy payers, old revisions, a
// claim or a transaction twice in one batch, a slot twice, a position that is not there.

const endpoint = "POST /v1/payouts"
const hour = 3_600_000

export interface StepSource {
  readonly tenants: readonly [AppId, AppId]
  readonly hashes: readonly [Uint8Array, Uint8Array, Uint8Array]
  readonly opening: (books: Books) => OpenStep
  readonly applying: (books: Books, alone: boolean) => ApplyStep
}

/** Steps of one story: its tenants and references are nobody else's. */
export const randomSteps = (random: Random, story: number): StepSource => {
  let [made, at] = [0, NOON]
  const tenants = [AppId.make(`a${story}`), AppId.make(`b${story}`)] as const
  const hashes = [hashOf(0), hashOf(1), hashOf(2)] as const
  const reference = (): Reference => referenceFrom(Uint8Array.from({ length: 26 }, () => random.below(256)))
  const upTo = (bound: number) => BigInt(random.below(bound + 1))
  const moment = () => {
    at += 1 + random.below(1_000)
    return at
  }

  const windowsOf = (appId: AppId, amount: bigint): ReadonlyArray<WindowUse> => {
    const all = ["hour", "day", "destination"].map((name, index) => ({
      ...windowAt(appId, `payout:${name}`, index === 2 ? `subject${random.below(2)}` : ""),
      amount: 1n,
      bound: upTo(8)
    }))
    // What all tenants share; its subject is the story, so that stories share nothing.
    const ceiling = { ...windowAt("", "ceiling:eversend:UGX", String(story)), amount, bound: upTo(600) }
    return [...all, ceiling].filter(() => random.chance(0.6))
  }

  /** Mostly a claim that nobody used; else one that was, one that was lost, or one of a key that is not there. */
  const claimOf = (appId: AppId, books: Books) => {
    const used = [...books.keys].filter(([name]) => name.startsWith(`${appId} `))
    const fresh = used.filter(([, { state }]) => state === "claimed")
    const [name, key] = pickOf(random, random.chance(0.85) && fresh.length > 0 ? fresh : used) ?? []
    const fence = (key?.fence ?? 0n) + (random.chance(0.05) ? 1n : 0n)
    const scope = {
      appId,
      mode: "live",
      endpoint,
      key: random.chance(0.03) ? "nobody" : (name?.split(" ").at(-1) ?? "")
    } as const
    return { scope, fence, reference: reference(), leaseUntil: 0 }
  }

  const opening = (books: Books): OpenStep => {
    const appId = random.pick(tenants)
    const claim = claimOf(appId, books)
    const kind = random.pick(["payout", "payout", "collection", "exchange"])
    const [principal, fee] = [minor(1n + upTo(80)), minor(upTo(10))]
    const common = { appId, reference: claim.reference, providerReference: random.chance(0.1) ? `P${random.below(5)}` : null }
    const record: Transaction =
      kind === "payout"
        ? payout({ ...common, principal, heldFee: fee, fees: fee, amount: principal })
        : kind === "collection"
          ? collection({ ...common, amount: principal, currency: random.pick(["UGX", "KES"]) })
          : exchangeOf({ ...common, amount: principal })
    const held = kind === "payout" ? minor(principal + fee) : principal
    const partyHash = kind === "exchange" ? null : random.pick(hashes)
    const known = books.payers.get(payerName(appId, hex(partyHash) ?? ""))?.reference ?? null
    const guarded = kind === "collection" && random.chance(0.7)
    const moved = moment()
    return {
      claim,
      transaction: record,
      entry: kind === "collection" ? null : reserve("UGX", held),
      line: { at: moved, actor: "request", fact: "Opened", note: pickOf(random, ["", "a note"]) ?? "", status: record.status },
      event: random.chance(0.5) ? eventOf(record, reference(), "payout.pending", moved) : null,
      nextPollAt: moved + 15_000,
      sealedDestination: kind === "payout" ? Uint8Array.of(made++ % 256, 2, 3) : null,
      beneficiary: kind === "payout" && random.chance(0.8) ? beneficiaryOf(record, reference(), random) : null,
      counters: windowsOf(appId, held),
      partyHash,
      ...(guarded ? { payer: { holder: random.chance(0.9) ? known : reference() } } : {})
    }
  }

  const applying = (books: Books, alone: boolean): ApplyStep => {
    const stored = pickOf(random, [...books.transactions.values()])
    const record = stored?.record ?? payout({ appId: tenants[0], reference: reference() })
    const status = random.pick(["pending", "successful", "failed"])
    const isFinal = status !== "pending"
    const next = {
      ...record,
      status,
      needsReview: random.chance(0.15),
      provider: random.chance(0.1) ? "pawapay" : record.provider,
      providerReference: random.chance(0.6) ? `P${random.below(5)}` : record.providerReference,
      version: record.version + 1
    } as Transaction
    const moved = moment()
    const key = [...books.keys].find(([, { reference: linked }]) => linked === record.reference)
    const scope = { appId: record.appId, mode: "live", endpoint, key: key?.[0].split(" ").at(-1) ?? "nobody" } as const
    const fence = (key?.[1].fence ?? 0n) + (random.chance(0.1) ? 1n : 0n)
    return {
      expectedRevision: (stored?.revision ?? 1n) - (random.chance(0.1) ? 1n : 0n),
      before: record,
      next,
      entry: stored === undefined ? null : entryOf(books, stored, alone),
      // Sometimes of a node whose clock is behind.
      line: { at: moved - (random.chance(0.1) ? 60_000 : 0), actor: "callback", fact: "Succeeded", note: `${moved}`, status },
      event: random.chance(0.5) ? eventOf(next, reference(), "payout.successful", moved) : null,
      nextPollAt: random.chance(isFinal ? 0.2 : 0.8) ? moved + 1_000 : null,
      response: random.chance(0.4)
        ? {
            claim: { scope, fence, reference: record.reference, leaseUntil: 0 },
            response: { status: 201, body: `{"at":${moved}}` }
          }
        : null,
      savesBeneficiary: record.kind === "payout" && random.chance(0.5),
      restoreLimits: record.kind === "payout" && status === "failed",
      wipeDestination: isFinal,
      raw: random.chance(0.3) ? { request: `asked ${moved}`, response: random.chance(0.7) ? "told" : null } : null
    }
  }

  /** An entry that the record could have; sometimes one whose slot is used, or whose position is not there. */
  const entryOf = (books: Books, { record, slots }: Stored, alone: boolean): Entry | null => {
    if (random.chance(0.3)) return null
    const closed = slots.includes("close") && random.chance(0.9)
    if (record.kind === "collection") {
      const currency = random.chance(0.04) ? "GHS" : record.currency
      return closed ? null : collect(currency, record.amount, minor(upTo(Number(record.amount))))
    }
    if (record.kind === "exchange")
      return closed
        ? null
        : random.chance(0.3)
          ? release("UGX", record.amount)
          : exchange("UGX", record.amount, "KES", record.destinationAmount)
    if (!closed)
      return random.chance(0.4)
        ? release("UGX", minor(record.principal + record.heldFee))
        : settle("UGX", record.principal, record.heldFee, minor(upTo(20)))
    if (!slots.includes("return") && random.chance(alone ? 0.2 : 0.7)) return returnFunds("UGX", record.principal, minor(upTo(5)))
    // What the float cannot cover is found under the lock of one transaction: never in a batch.
    const position = books.positions.get(positionName(record.appId, "UGX"))
    const held = { available: position?.get("available") ?? 0n, receivable: position?.get("receivable") ?? 0n }
    return alone ? coveringReceivable(correct("UGX", { paidOut: upTo(1_000) - 300n, fees: upTo(3) }), () => held) : null
  }

  return { tenants, hashes, opening, applying }
}

export const scopeOf = (appId: AppId, key: string) => keyName({ appId, mode: "live", endpoint, key })

const pickOf = <A>(random: Random, all: ReadonlyArray<A>): A | undefined => all[random.below(all.length)]
const hashOf = (which: number) => new Uint8Array(32).fill(which)

const windowAt = (appId: string, name: string, subject: string) => ({
  appId,
  mode: "live" as const,
  name,
  subject,
  startsAt: NOON,
  endsAt: NOON + hour,
  window: null
})

const eventOf = ({ appId, reference }: Transaction, id: Reference, type: "payout.pending" | "payout.successful", at: number) => ({
  id,
  appId,
  mode: "live" as const,
  type,
  reference,
  at,
  body: `{"at":${at}}`
})

const beneficiaryOf = ({ appId }: Transaction, id: Reference, random: Random) => ({
  id,
  appId,
  mode: "live" as const,
  type: "momo" as const,
  country: "UG",
  currency: "UGX" as const,
  network: random.pick(["MTN", "AIRTEL", null]),
  bankCode: null,
  branchCode: random.pick(["001", "002", null]),
  bankName: null,
  accountName: random.pick(["J••• D••", "J•••", null]),
  maskedDestination: "••••3456",
  createdAt: NOON,
  lastUsedAt: NOON
})

const exchangeOf = ({ amount, ...own }: Pick<Exchange, "appId" | "reference" | "providerReference" | "amount">): Exchange => ({
  ...payout(),
  ...own,
  kind: "exchange",
  status: "pending",
  amount,
  quoteId: own.reference,
  destinationAmount: minor(amount * 2n),
  destinationCurrency: "KES",
  rawDestinationAmount: `${amount * 2n}`,
  rate: "2",
  failure: null
})
