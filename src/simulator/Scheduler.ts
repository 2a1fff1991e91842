import { Clock, Deferred, Effect, Exit, FiberMap, type Scope } from "effect"
import type { Account } from "./Account.ts"
import { attemptCallback, CALLBACK_TIMEOUT_MS } from "./Callbacks.ts"
import type { Fact, Job } from "./Facts.ts"
import { latePaymentFacts, returnFacts, settlementFacts } from "./Movements.ts"
import type { SimulatedProvider } from "./SimulatedProvider.ts"

/** Runs each task when it is due. A task that became due while the process was dead runs at the next start. */
export interface Scheduler {
  /** Commits the facts, and schedules the jobs among them. */
  readonly commit: (facts: ReadonlyArray<Fact>) => Effect.Effect<void>
  /** Waits until a job is done or postponed to another attempt, at most as long as one callback may take. */
  readonly untilAttempted: (jobId: string) => Effect.Effect<void>
  /** Attempts every pending callback at once, including those that wait for their next attempt; returns the number of jobs. */
  readonly flush: Effect.Effect<number>
}

interface Options {
  readonly account: Account
  readonly providers: ReadonlyArray<SimulatedProvider>
  readonly delayMs: number
}

export const makeScheduler = Effect.fn("makeScheduler")(function* (
  options: Options
): Effect.fn.Return<Scheduler, never, Scope.Scope> {
  const { account } = options
  const workers = yield* FiberMap.make<string>()
  const attempts = new Map<string, Deferred.Deferred<void>>()
  /** For each worker that waits until its job is due. */
  const waits = new Map<string, Deferred.Deferred<void>>()

  const commit: Scheduler["commit"] = Effect.fnUntraced(function* (facts) {
    yield* account.commit(facts)
    for (const fact of facts) if (fact.fact === "job") yield* startWorker(fact.job.id)
  })

  const runOnce = Effect.fnUntraced(function* (job: Job) {
    const now = yield* Clock.currentTimeMillis
    const done: Fact = { fact: "job_done", id: job.id }
    const provider = options.providers.find(({ name }) => name === job.provider)
    const { work } = job
    if (work.kind === "callbacks") {
      const clock = yield* Clock.Clock
      const left = yield* attemptCallback(account, { ...job, work }, provider?.sign, () => clock.currentTimeMillisUnsafe())
      return yield* account.commit([left === undefined ? done : { fact: "job", job: left }])
    }
    const transaction = account.transaction(job.provider, work.transaction)
    if (transaction === undefined || provider === undefined) return yield* account.commit([done])
    const setting = { callback: provider.callback, delayMs: options.delayMs, now }
    yield* commit([
      done,
      ...{
        settle: () => settlementFacts(transaction, setting, now),
        return: () => returnFacts(transaction, setting),
        pay: () => latePaymentFacts(transaction, setting)
      }[work.kind]()
    ])
  })

  const work = Effect.fnUntraced(function* (id: string) {
    for (let job = account.job(id); job !== undefined; job = account.job(id)) {
      const now = yield* Clock.currentTimeMillis
      const woken = Deferred.makeUnsafe<void>()
      waits.set(id, woken)
      yield* Effect.raceFirst(Effect.sleep(Math.max(0, job.at - now)), Deferred.await(woken))
      waits.delete(id)
      yield* runOnce(job)
      const left = account.job(id)
      if (left !== undefined && (left.work.kind !== "callbacks" || left.work.attempt === 0)) continue
      const waiting = attempts.get(id)
      attempts.delete(id)
      if (waiting !== undefined) yield* Deferred.succeed(waiting, undefined)
    }
  })

  const startWorker = (id: string) =>
    Effect.suspend(() => {
      if (!attempts.has(id)) attempts.set(id, Deferred.makeUnsafe())
      return FiberMap.run(workers, id, work(id))
    })

  const untilAttempted: Scheduler["untilAttempted"] = Effect.fnUntraced(function* (id) {
    const waiting = attempts.get(id)
    if (waiting !== undefined) yield* Deferred.await(waiting).pipe(Effect.timeoutOption(CALLBACK_TIMEOUT_MS))
  })

  const flush = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const due = (job: Job) => job.at <= now
    // If the clock is set between a worker's reading of it and its sleep, the worker oversleeps; this wakes it.
    for (const { id } of account.jobs().filter(due)) {
      const woken = waits.get(id)
      if (woken !== undefined) Deferred.doneUnsafe(woken, Exit.void)
    }
    for (const job of account.jobs().filter((job) => due(job) && job.work.kind !== "callbacks")) yield* untilAttempted(job.id)
    const callbacks = account.jobs().filter(({ work }) => work.kind === "callbacks")
    const waiting = callbacks.filter((job) => !due(job) && job.work.kind === "callbacks" && job.work.attempt > 0)
    for (const job of waiting) yield* commit([{ fact: "job", job: { ...job, at: now } }])
    const sent = [...callbacks.filter(due), ...waiting]
    yield* Effect.forEach(sent, ({ id }) => untilAttempted(id), { concurrency: "unbounded", discard: true })
    return sent.length
  })

  for (const job of account.jobs()) yield* startWorker(job.id)
  return { commit, untilAttempted, flush }
})
