import { Clock, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { isReference, type Reference } from "../domain/Ids.ts"
import { iso, isoOrNull } from "../domain/Instant.ts"
import { maskedText } from "../domain/Masking.ts"
import { CallbackStatus, ProviderInbox, type StoredCallback } from "../services/ports/ProviderInbox.ts"
import { Transactions } from "../services/ports/Transactions.ts"
import { namesOurs } from "../services/settlement/ProviderCallbacks.ts"
import { choice, exampleProvider, help, isGiven, mode, moment, providerName, requireKnownProviders, words } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"

const callbackId = Argument.String("ID").pipe(Argument.withDescription("the callback, as `inbox list` prints it"))

const SHOWN = 200

const list = Command.make(
  "list",
  { status: choice("status", CallbackStatus.literals, "only these").pipe(Flag.optional) },
  Effect.fn(function* ({ status }) {
    const callbacks = yield* ProviderInbox
    yield* printResult((yield* callbacks.list(Option.getOrNull(status), SHOWN)).map(rowView))
  }, Effect.provide(operatorPorts))
).pipe(
  help(`The newest ${SHOWN} callbacks of providers; the parked ones matched nothing`, [
    "gateway inbox list --status parked",
    "List the callbacks that matched no transaction"
  ])
)

const replay = Command.make(
  "replay",
  { id: callbackId },
  Effect.fn(function* ({ id }) {
    const callbacks = yield* ProviderInbox
    const at = yield* Clock.currentTimeMillis
    const replayed = isReference(id) ? yield* callbacks.replay(id, at, yield* auditEntry("inbox replay", id, {})) : Option.none()
    if (Option.isNone(replayed))
      return yield* new CommandRefusal(`there is no callback ${id}: gateway inbox list shows the newest`)
    yield* printResult(rowView(replayed.value))
  }, Effect.provide(operatorPorts))
).pipe(
  help("Process a callback again: find its transaction and ask the provider about it", [
    "gateway inbox replay AAA688MG9KT6BQ76F4NM4BJRH5",
    "Process one callback again"
  ])
)

const read = Command.make(
  "read",
  {
    id: callbackId,
    reason: words("reason", 200, "why you read it, for the audit log")
  },
  Effect.fn(function* ({ id, reason }) {
    const callbacks = yield* ProviderInbox
    const audit = yield* auditEntry("inbox read", id, { reason: maskedText(reason) })
    const found = isReference(id) ? yield* callbacks.body(id, audit) : Option.none()
    if (Option.isNone(found)) return yield* new CommandRefusal(`there is no callback ${id}: gateway inbox list shows the newest`)
    yield* printResult({ id, body: found.value })
  }, Effect.provide(operatorPorts))
).pipe(
  help("Read what a callback said, masked, as long as it is not done; the audit log keeps that, and why", [
    'gateway inbox read AAA688MG9KT6BQ76F4NM4BJRH5 --reason "it is parked, and names nothing"',
    "Read a callback that no look came to an end with"
  ])
)

const close = Command.make(
  "close",
  {
    id: callbackId,
    reason: words("reason", 200, "whose it is, for the audit log")
  },
  Effect.fn(function* ({ id, reason }) {
    const callbacks = yield* ProviderInbox
    const closed = isReference(id)
      ? yield* callbacks.close(id, yield* auditEntry("inbox close", id, { reason: maskedText(reason) }))
      : Option.none()
    if (Option.isNone(closed))
      return yield* new CommandRefusal(`there is no parked callback ${id}: gateway inbox list --status parked shows them`)
    yield* printResult(rowView(closed.value))
  }, Effect.provide(operatorPorts))
).pipe(
  help("Close a parked callback that is not about any transaction of ours; nothing is asked and nothing is booked", [
    'gateway inbox close AAA688MG9KT6BQ76F4NM4BJRH5 --reason "a test of the provider"',
    "Close a callback that somebody looked at"
  ])
)

/** The number closed in one commit. */
const CLOSED_AT_ONCE = 500
/** The number of callbacks that are compared with transactions at the same time. */
const COMPARED_AT_ONCE = 8

const closeUnmatched = Command.make(
  "close-unmatched",
  {
    provider: providerName,
    mode,
    before: moment("before", "those that came before this moment, as 2026-01-31T12:00:00.000Z; all where it is left out"),
    reason: words("reason", 200, "whose they are, for the audit log"),
    dryRun: isGiven("dry-run", "only count them")
  },
  Effect.fn(function* ({ before, dryRun, mode, provider, reason }) {
    yield* requireKnownProviders([provider])
    const [callbacks, isOurs] = [yield* ProviderInbox, namesOurs(yield* Transactions)]
    const end = Math.min(before ?? Number.POSITIVE_INFINITY, yield* Clock.currentTimeMillis)
    const details = { mode, before: iso(end), reason: maskedText(reason) }
    const count = { parked: 0, unmatched: 0, closed: 0 }
    let after: Reference | null = null
    do {
      const page: ReadonlyArray<StoredCallback> = yield* callbacks.parked({ provider, mode }, end, {
        after,
        limit: CLOSED_AT_ONCE
      })
      const ours = yield* Effect.forEach(page, isOurs, { concurrency: COMPARED_AT_ONCE })
      const unmatched = page.filter((_, index) => ours[index] === false).map(({ id }) => id)
      count.parked += page.length
      count.unmatched += unmatched.length
      if (!dryRun && unmatched.length > 0)
        count.closed += yield* callbacks.closeAll(unmatched, yield* auditEntry("inbox close-unmatched", provider, details))
      after = page.length < CLOSED_AT_ONCE ? null : (page.at(-1)?.id ?? null)
    } while (after !== null)
    yield* printResult({ provider, mode, before: iso(end), dry_run: dryRun, ...count, kept: count.parked - count.unmatched })
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Close the parked callbacks of one account that are about no transaction of ours; those that are about one are kept. Count them with --dry-run first",
    [
      `gateway inbox close-unmatched ${exampleProvider} --mode live --dry-run --reason "junk of 31 January"`,
      "Count what would be closed"
    ]
  )
)

export const inbox = Command.make("inbox").pipe(
  help("Callbacks of providers, as they were stored"),
  Command.withSubcommands([list, read, replay, close, closeUnmatched])
)

const rowView = ({ hint, id, looks, matched, mode, nextLookAt, provider, receivedAt, status }: StoredCallback) => ({
  id,
  provider,
  mode,
  status,
  received_at: iso(receivedAt),
  next_look_at: isoOrNull(nextLookAt),
  looks,
  reference: hint.reference,
  provider_reference: hint.providerReference,
  says: hint.says ?? null,
  matched_reference: matched
})
