import { join } from "node:path"
import { Effect, Schema, type Scope } from "effect"
import { type Currency } from "../domain/Currency.ts"
import { openAppendOnlyFile } from "./AppendOnlyFile.ts"
import { type Execution, type Fact, Facts, type Job, type SimulatedTransaction } from "./Facts.ts"

/** The opening balance of every wallet, in minor units. */
export const OPENING_BALANCE = 1_000_000_000_000n

/** The simulator's own durable record of what it executed. Reads answer from memory; writes return once they are on disk. */
export interface Account {
  /** Commits all the facts or, after a crash, none of them. Reads see them at once. */
  readonly commit: (facts: ReadonlyArray<Fact>) => Effect.Effect<void>
  /** Returns once everything that a read can see is on disk, so that no response reports something that a crash could undo. */
  readonly settled: Effect.Effect<void>
  readonly transaction: (provider: string, id: string) => SimulatedTransaction | undefined
  /** Newest last. */
  readonly transactions: (provider: string, account: string) => ReadonlyArray<SimulatedTransaction>
  readonly byReference: (provider: string, account: string, reference: string) => ReadonlyArray<SimulatedTransaction>
  readonly executions: (reference: string | undefined) => ReadonlyArray<Execution>
  readonly balance: (provider: string, account: string, currency: Currency) => bigint
  readonly jobs: () => ReadonlyArray<Job>
  readonly job: (id: string) => Job | undefined
  readonly note: (key: string) => string | undefined
  /** Counts up from 1 in each process: unique together with the time. */
  readonly sequence: () => number
}

export const openAccount = Effect.fn("openAccount")(function* (dataDir: string): Effect.fn.Return<Account, never, Scope.Scope> {
  const file = yield* openAppendOnlyFile(join(dataDir, "simulator", "account.jsonl"), true)
  const book = new Book()
  for (const line of file.lines) book.apply(decode(line))
  let last = 0

  return {
    commit: Effect.fnUntraced(function* (facts: ReadonlyArray<Fact>) {
      book.apply(facts)
      yield* file.append(encode(facts))
    }),
    settled: file.settled,
    transaction: (provider, id) => book.transactions.get(`${provider}/${id}`),
    transactions: (provider, account) => book.find(book.ofAccount.get(`${provider}/${account}`)),
    byReference: (provider, account, reference) => book.find(book.ofReference.get(`${provider}/${account}/${reference}`)),
    executions: (reference) => (reference === undefined ? book.executions : (book.executionsOf.get(reference) ?? [])),
    balance: (provider, account, currency) => book.wallets.get(`${provider}/${account}/${currency}`) ?? OPENING_BALANCE,
    jobs: () => [...book.jobs.values()],
    job: (id) => book.jobs.get(id),
    note: (key) => book.notes.get(key),
    sequence: () => {
      last += 1
      return last
    }
  }
})

const decode = Schema.decodeUnknownSync(Facts)
const encode = Schema.encodeSync(Facts)

class Book {
  readonly transactions = new Map<string, SimulatedTransaction>()
  readonly ofAccount = new Map<string, Array<string>>()
  readonly ofReference = new Map<string, Array<string>>()
  readonly executions: Array<Execution> = []
  readonly executionsOf = new Map<string, Array<Execution>>()
  readonly wallets = new Map<string, bigint>()
  readonly jobs = new Map<string, Job>()
  readonly notes = new Map<string, string>()

  apply(facts: ReadonlyArray<Fact>): void {
    for (const fact of facts) this.applyOne(fact)
  }

  find(keys: ReadonlyArray<string> = []): ReadonlyArray<SimulatedTransaction> {
    return keys.flatMap((key) => this.transactions.get(key) ?? [])
  }

  private applyOne(fact: Fact): void {
    switch (fact.fact) {
      case "transaction":
        return this.applyTransaction(fact.transaction)
      case "execution":
        return this.applyExecution(fact.execution)
      case "wallet": {
        const wallet = `${fact.provider}/${fact.account}/${fact.currency}`
        this.wallets.set(wallet, (this.wallets.get(wallet) ?? OPENING_BALANCE) + fact.change)
        return
      }
      case "job":
        this.jobs.set(fact.job.id, fact.job)
        return
      case "job_done":
        this.jobs.delete(fact.id)
        return
      case "note":
        this.notes.set(fact.key, fact.value)
        return
    }
  }

  private applyTransaction(transaction: SimulatedTransaction): void {
    const key = `${transaction.provider}/${transaction.id}`
    if (!this.transactions.has(key)) {
      const owner = `${transaction.provider}/${transaction.account}`
      append(this.ofAccount, owner, key)
      if (transaction.reference !== null) append(this.ofReference, `${owner}/${transaction.reference}`, key)
    }
    this.transactions.set(key, transaction)
  }

  private applyExecution(execution: Execution): void {
    this.executions.push(execution)
    append(this.executionsOf, execution.reference, execution)
    const client = execution.client_reference
    if (client !== null && client !== execution.reference) append(this.executionsOf, client, execution)
  }
}

const append = <V>(map: Map<string, Array<V>>, key: string, value: V): void => {
  const values = map.get(key)
  if (values === undefined) map.set(key, [value])
  else values.push(value)
}
