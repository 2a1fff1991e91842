import { createHash } from "node:crypto"
import type { Reference } from "../../src/domain/Ids.ts"
import { type Account, type Entry, type Posting, slotOf } from "../../src/domain/Ledger.ts"
import { minor } from "../../src/domain/Money.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import type { ApplyOutcome, ApplyStep, OpenOutcome, OpenStep } from "../../src/services/ports/FloatLedger.ts"
import { type Books, keyName, type Position, payerName, positionName, type Stored, windowName } from "./LedgerBooks.ts"

export const hex = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString("hex"))
const sha256 = (...parts: ReadonlyArray<string>) => createHash("sha256").update(parts.join("\n")).digest("hex")

/** What an account of a position holds: those that stand for the other side are shown with the sign turned. */
const turned: ReadonlyArray<Account> = ["collected", "fx_in", "returned", "receivable", "credited"]
const kept = (account: Account): boolean => account !== "drift" && account !== "pool"

const movePosition = (position: Position, postings: ReadonlyArray<Posting>) => {
  for (const { account, amount } of postings.filter((line) => kept(line.account)))
    position.set(account, (position.get(account) ?? 0n) + (turned.includes(account) ? -amount : amount))
}

/** What a payout may draw from: what is available, less what the tenant owes. */
const drawable = (position: Position | undefined): bigint => {
  const free = (position?.get("available") ?? 0n) - (position?.get("receivable") ?? 0n)
  return free > 0n ? free : 0n
}

const isOpen = ({ status }: Transaction) => status === "pending" || status === "requires_action"

/** What both steps write the same way: the line of the history with its entry, the event, and the name at the provider. */
const note = (
  books: Books,
  { entry, event, line, ...step }: OpenStep | ApplyStep,
  { answered, revision }: { readonly answered: boolean; readonly revision: bigint }
) => {
  const record = "next" in step ? step.next : step.transaction
  const answer = answered && "next" in step ? step.response : null
  const postings = entry?.postings ?? []
  books.journal.push([
    record.appId,
    record.reference,
    String(revision),
    line.at,
    line.actor,
    line.fact,
    line.note,
    line.status,
    entry === null ? null : slotOf(entry),
    entry?.phase ?? null,
    postings.map(({ currency }) => currency),
    postings.map(({ account }) => account),
    postings.map(({ amount }) => String(amount)),
    true,
    event === null ? null : sha256(event.id, event.type, event.body),
    answer === null
      ? null
      : sha256(answer.claim.scope.endpoint, answer.claim.scope.key, String(answer.response.status), answer.response.body)
  ])
  if (record.providerReference !== null)
    books.names.add([record.provider, record.mode, record.providerReference, record.appId, record.reference].join(" "))
  if (event === null) return
  books.events.push([record.appId, event.id, event.type, record.reference, event.body, line.at])
  if (books.wanted.get(record.appId)?.includes(event.type) === true) books.deliveries.push([record.appId, event.id, line.at])
}

/** Opens one transaction, or says why not: the first refusal in the contract's order. */
export const foldOpen = (books: Books, step: OpenStep): OpenOutcome => {
  const { claim, counters, entry, line, partyHash, payer, transaction: record } = step
  const { appId, currency, reference } = record
  const key = books.keys.get(keyName(claim.scope))
  if (key === undefined || key.fence !== claim.fence || key.state !== "claimed") return { _tag: "ClaimLost" }
  // Money moved by this reference: a frozen tenant, too, is not told that none did.
  if (books.booked.has(reference)) return { _tag: "ClaimLost" }
  if (books.frozen.has(appId)) return { _tag: "Frozen" }
  const hash = hex(partyHash)
  const charged = books.payers.get(payerName(appId, hash ?? ""))
  if (payer !== undefined && (charged === undefined || charged.reference !== payer.holder)) return { _tag: "PayerBusy" }
  const full = counters.findIndex((use) => (books.windows.get(windowName(use)) ?? 0n) + use.amount > use.bound)
  if (full >= 0) return { _tag: "OverCap", counter: full }
  const position = books.positions.get(positionName(appId, currency))
  const held = entry?.postings.find(({ account }) => account === "reserved")?.amount ?? 0n
  if (held > drawable(position)) return { _tag: "ShortFloat", available: minor(drawable(position)) }

  books.keys.set(keyName(claim.scope), { ...key, state: "pinned", reference })
  if (payer !== undefined && charged !== undefined)
    books.payers.set(payerName(appId, hash ?? ""), { reference, recent: [...charged.recent, reference] })
  for (const use of counters) books.windows.set(windowName(use), (books.windows.get(windowName(use)) ?? 0n) + use.amount)
  if (position !== undefined) movePosition(position, entry?.postings ?? [])
  const credited = record.kind === "exchange" ? record.destinationCurrency : record.kind === "collection" ? currency : null
  if (credited !== null && !books.positions.has(positionName(appId, credited)))
    books.positions.set(positionName(appId, credited), new Map())
  const slots = entry === null ? [] : ["open"]
  books.transactions.set(reference, {
    record,
    revision: 1n,
    createdAt: line.at,
    partyHash: hash,
    counted: counters,
    raw: [null, null],
    slots
  })
  books.work.set(reference, {
    isOpen: isOpen(record),
    nextPollAt: step.nextPollAt,
    needsReview: record.needsReview,
    sealed: hex(step.sealedDestination),
    beneficiary: step.beneficiary
  })
  note(books, step, { answered: false, revision: 1n })
  return { _tag: "Opened" }
}

/** The positions that an entry moves are all there, and its slot is free. */
const isPostable = (books: Books, { slots }: Stored, entry: Entry | null, appId: string): boolean =>
  entry === null ||
  (!slots.includes(slotOf(entry)) && entry.postings.every(({ currency }) => books.positions.has(positionName(appId, currency))))

/** Applies a batch, or refuses it as a whole. Of two steps on one transaction, and of two for one new beneficiary, the first counts. */
export const foldApply = (books: Books, steps: ReadonlyArray<ApplyStep>): ReadonlyArray<ApplyOutcome> | "refused" => {
  const revisions = new Map([...books.transactions].map(([reference, { revision }]) => [reference, revision]))
  const [applied, befriended] = [new Set<Reference>(), new Set<string>()]
  const results: Array<ApplyOutcome> = []
  for (const step of steps) {
    const { entry, line, next: record, response } = step
    const { appId, reference } = record
    const stored = books.transactions.get(reference)
    if (stored === undefined || revisions.get(reference) !== step.expectedRevision || applied.has(reference)) {
      results.push({ _tag: "Stale" })
      continue
    }
    if (!isPostable(books, stored, entry, appId)) return "refused"
    applied.add(reference)
    const claimed = response === null ? undefined : books.keys.get(keyName(response.claim.scope))
    const answered = claimed?.state === "pinned" && claimed.fence === response?.claim.fence
    if (answered && response !== null) {
      const answer = [response.response.status, response.response.body] as const
      books.keys.set(keyName(response.claim.scope), { ...claimed, state: "done", answer })
    }
    if (step.restoreLimits)
      for (const use of stored.counted) {
        const left = (books.windows.get(windowName(use)) ?? 0n) - use.amount
        books.windows.set(windowName(use), left > 0n ? left : 0n)
      }
    for (const posting of entry?.postings ?? []) {
      const position = books.positions.get(positionName(appId, posting.currency))
      if (position !== undefined) movePosition(position, [posting])
    }
    saveBeneficiary(books, step, stored, befriended)
    leaveWork(books, step)
    books.transactions.set(reference, {
      ...stored,
      record,
      revision: stored.revision + 1n,
      raw: step.raw === null ? stored.raw : [step.raw.request, step.raw.response],
      slots: entry === null ? stored.slots : [...stored.slots, slotOf(entry)]
    })
    note(books, { ...step, line }, { answered, revision: step.expectedRevision + 1n })
    results.push({ _tag: "Applied" })
  }
  return results
}

const saveBeneficiary = (books: Books, step: ApplyStep, { partyHash }: Stored, befriended: Set<string>) => {
  const draft = books.work.get(step.next.reference)?.beneficiary ?? null
  const name = payerName(step.next.appId, partyHash ?? "")
  if (!step.savesBeneficiary || draft === null || partyHash === null || befriended.has(name)) return
  befriended.add(name)
  const known = books.beneficiaries.get(name)
  const usedAt = Math.max(known?.usedAt ?? step.line.at, step.line.at)
  books.beneficiaries.set(name, {
    id: known?.id ?? draft.id,
    at: known?.at ?? step.line.at,
    usedAt,
    network: draft.network ?? known?.network ?? null,
    branchCode: draft.branchCode ?? known?.branchCode ?? null,
    accountName: draft.accountName ?? known?.accountName ?? null
  })
}

/** What is left to do, and of what is kept until then only what is still needed. */
const leaveWork = (books: Books, { next, nextPollAt, savesBeneficiary, wipeDestination }: ApplyStep) => {
  const before = books.work.get(next.reference)
  if (!isOpen(next) && nextPollAt === null && !next.needsReview) books.work.delete(next.reference)
  else
    books.work.set(next.reference, {
      isOpen: isOpen(next),
      nextPollAt,
      needsReview: next.needsReview,
      sealed: wipeDestination ? null : (before?.sealed ?? null),
      beneficiary: savesBeneficiary || wipeDestination ? null : (before?.beneficiary ?? null)
    })
}
