import { Clock, Context, Effect, Option } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { isTerminal } from "../../domain/Payment.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Acknowledgements } from "../ports/Acknowledgements.ts"
import type { AuditEntry } from "../ports/AuditLog.ts"
import { Transactions } from "../ports/Transactions.ts"
import { type UnsettledFilter, UnsettledWork } from "../ports/UnsettledWork.ts"
import { OutcomePoller } from "./OutcomePoller.ts"

/** The result for one of many transactions, and the reason when nothing was done. */
export interface Handled {
  readonly reference: Reference
  readonly what: "settled" | "asked" | "acknowledged" | "left"
  readonly why: string
}

/** How many transactions one operation handles. */
export const HANDLED_AT_MOST = 1_000
const ASKED_AT_ONCE = 8
/** After this long no further provider is polled: one that does not answer takes its whole time limit for each transaction. */
const ASK_FOR_MS = 60_000

/** Handles many transactions of unknown or overdue outcome at once, each in its own step with its own audit row. */
export class UnsettledQueue extends Context.Service<
  UnsettledQueue,
  {
    /** The transactions that match a filter, oldest first, at most `HANDLED_AT_MOST`. */
    readonly matching: (filter: UnsettledFilter) => Effect.Effect<ReadonlyArray<Reference>>
    /** Polls each provider now, as `transaction ask` does. The answers are booked like those of any poll. */
    readonly ask: (
      references: ReadonlyArray<Reference>,
      audit: (reference: Reference) => AuditEntry
    ) => Effect.Effect<ReadonlyArray<Handled>>
    /** Silences the alerts of each until that time. */
    readonly acknowledge: (
      references: ReadonlyArray<Reference>,
      until: Instant,
      audit: (reference: Reference) => AuditEntry
    ) => Effect.Effect<ReadonlyArray<Handled>>
  }
>()("gateway/services/UnsettledQueue") {
  static readonly layer = layerOf(UnsettledQueue)(function* () {
    const work = yield* UnsettledWork
    const transactions = yield* Transactions
    const poller = yield* OutcomePoller
    const acknowledgements = yield* Acknowledgements

    const matching = Effect.fn("UnsettledQueue.matching")((filter: UnsettledFilter) =>
      Effect.map(work.list(filter, null, HANDLED_AT_MOST), (found) => found.map(({ reference }) => reference))
    )

    const askOne = Effect.fnUntraced(function* (reference: Reference, audit: AuditEntry): Effect.fn.Return<Handled> {
      const found = yield* transactions.audited(reference, audit)
      if (Option.isNone(found)) return { reference, what: "left", why: "there is no such transaction" }
      const { learnt, record, turnedAway } = yield* poller.poll(found.value, "operator")
      if (record.needsReview) return { reference, what: "left", why: "it needs a person" }
      if (isTerminal(record)) return { reference, what: "settled", why: `it is ${record.status}` }
      if (turnedAway === true) return { reference, what: "left", why: "the provider takes no further question now" }
      return { reference, what: "asked", why: learnt ? "it is under way" : "its provider cannot tell yet" }
    })

    const ask: UnsettledQueue["Service"]["ask"] = Effect.fn("UnsettledQueue.ask")(function* (references, audit) {
      const until = (yield* Clock.currentTimeMillis) + ASK_FOR_MS
      return yield* Effect.forEach(
        references,
        (reference) =>
          Effect.flatMap(
            Clock.currentTimeMillis,
            (now): Effect.Effect<Handled> =>
              now < until ? askOne(reference, audit(reference)) : Effect.succeed({ reference, what: "left", why: TOO_LONG })
          ),
        { concurrency: ASKED_AT_ONCE }
      )
    })

    const acknowledge = Effect.fn("UnsettledQueue.acknowledge")(
      (references: ReadonlyArray<Reference>, until: Instant, audit: (reference: Reference) => AuditEntry) =>
        Effect.forEach(references, (reference) =>
          Effect.map(
            acknowledgements.acknowledge(reference, until, audit(reference)),
            (found): Handled =>
              Option.isSome(found)
                ? { reference, what: "acknowledged", why: "" }
                : { reference, what: "left", why: "it is neither open nor in review any more" }
          )
        )
    )

    return { matching, ask, acknowledge }
  })
}

const TOO_LONG = "it was not asked: the others took a minute already"
