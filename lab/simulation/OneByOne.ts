import { Clock, Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Reference } from "../../src/domain/Ids.ts"
import { iso } from "../../src/domain/Instant.ts"
import { type LeasedCallback, ProviderInbox } from "../../src/services/ports/ProviderInbox.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { WebhookOutbox } from "../../src/services/ports/WebhookOutbox.ts"
import { impatient } from "../../test/support/WrongClock.ts"
import type { Node } from "./Node.ts"
import type { Ready } from "./Testbed.ts"

/** For a row that is being written. */
const LOOKS_AT_MOST = 1_000

/** A worker claims one item at a time: children of one round would go on in whatever order the database answers. */
export const oneByOne = (ready: Ready, node: Node): Ready => {
  const { between } = node
  const transactions = Context.get(ready, Transactions)
  const inbox = Context.get(ready, ProviderInbox)
  const outbox = Context.get(ready, WebhookOutbox)
  const sql = Context.get(ready, SqlClient.SqlClient)
  // A claim is a transaction of several statements, and in most rounds nobody is owed anything, due or not.
  const isAnyOwed = Effect.map(Effect.orDie(sql`SELECT FROM due_deliveries LIMIT 1`), (rows) => rows.length > 0)
  return ready.pipe(
    Context.add(Transactions, { ...transactions, claimDue: (now, _, leaseMs) => transactions.claimDue(now, 1, leaseMs) }),
    Context.add(ProviderInbox, {
      ...inbox,
      claimDue: (now, _, leaseMs) =>
        Effect.tap(inbox.claimDue(now, 1, leaseMs), (claimed) =>
          Effect.forEach(claimed, ({ hint, mode, provider }) => node.asks(`${provider} ${mode} ${hint.reference}`))
        ),
      store: (callback, dueAt) => between("store", inbox.store(callback, dueAt)),
      markProcessed: (callback, reference) => between("done", markedProcessed(ready, callback, reference))
    }),
    Context.add(WebhookOutbox, {
      claimDue: (now, _, perEndpoint, leaseMs) =>
        Effect.flatMap(isAnyOwed, (isOwed) => (isOwed ? outbox.claimDue(now, 1, perEndpoint, leaseMs) : Effect.succeed([]))),
      recordAttempt: (attempt, verdict) => between("settle", outbox.recordAttempt(attempt, verdict))
    })
  )
}

/** Written at once: by the clock of the story it would be written while something else happens, in one run before that and in another after. */
const markedProcessed = (ready: Ready, callback: LeasedCallback, reference: Reference): Effect.Effect<void> =>
  Effect.gen(function* () {
    const sql = Context.get(ready, SqlClient.SqlClient)
    const soon = impatient(yield* Clock.Clock)
    yield* Effect.provideService(Context.get(ready, ProviderInbox).markProcessed(callback, reference), Clock.Clock, soon)
    const leased = sql`SELECT FROM provider_inbox
      WHERE id = ${callback.id} AND status = 'due' AND next_look_at = ${iso(callback.leasedUntil)}::timestamptz`
    yield* Effect.repeat(leased, { until: (rows) => rows.length === 0, times: LOOKS_AT_MOST })
  }).pipe(Effect.asVoid, Effect.orDie)
