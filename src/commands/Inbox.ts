import { Clock, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { isReference } from "../domain/Ids.ts"
import { iso } from "../domain/Instant.ts"
import { maskedText } from "../domain/Masking.ts"
import { CallbackStatus, ProviderInbox, type StoredCallback } from "../services/ports/ProviderInbox.ts"
import { Words } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"

const callbackId = Argument.String("ID").pipe(Argument.withDescription("the callback, as `inbox list` prints it"))

/** The newest so many are shown. */
const SHOWN = 200

const list = Command.make(
  "list",
  { status: Flag.Literals("status", CallbackStatus.literals).pipe(Flag.withDescription("only these"), Flag.optional) },
  Effect.fn(function* ({ status }) {
    const callbacks = yield* ProviderInbox
    yield* printResult((yield* callbacks.list(Option.getOrNull(status), SHOWN)).map(rowView))
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription(`The newest ${SHOWN} callbacks of providers; the parked ones matched nothing`),
  Command.withExamples([
    { command: "gateway inbox list --status parked", description: "List the callbacks that matched no transaction" }
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
      return yield* new CommandRefusal({ message: `there is no callback ${id}: gateway inbox list shows the newest` })
    yield* printResult(rowView(replayed.value))
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription("Process a callback again: find its transaction and ask the provider about it"),
  Command.withExamples([
    { command: "gateway inbox replay AAA688MG9KT6BQ76F4NM4BJRH5", description: "Process one callback again" }
  ])
)

const close = Command.make(
  "close",
  {
    id: callbackId,
    reason: Flag.String("reason").pipe(Flag.withSchema(Words(200)), Flag.withDescription("whose it is, for the audit log"))
  },
  Effect.fn(function* ({ id, reason }) {
    const callbacks = yield* ProviderInbox
    const closed = isReference(id)
      ? yield* callbacks.close(id, yield* auditEntry("inbox close", id, { reason: maskedText(reason) }))
      : Option.none()
    if (Option.isNone(closed))
      return yield* new CommandRefusal({
        message: `there is no parked callback ${id}: gateway inbox list --status parked shows them`
      })
    yield* printResult(rowView(closed.value))
  }, Effect.provide(operatorPorts))
).pipe(
  Command.withDescription(
    "Close a parked callback that is not about any transaction of ours; nothing is asked and nothing is booked"
  ),
  Command.withExamples([
    {
      command: 'gateway inbox close AAA688MG9KT6BQ76F4NM4BJRH5 --reason "a test of the provider"',
      description: "Close a callback that somebody looked at"
    }
  ])
)

export const inbox = Command.make("inbox").pipe(
  Command.withDescription("Callbacks of providers, as they were stored"),
  Command.withSubcommands([list, replay, close])
)

const rowView = ({ hint, id, looks, matched, mode, nextLookAt, provider, receivedAt, status }: StoredCallback) => ({
  id,
  provider,
  mode,
  status,
  received_at: iso(receivedAt),
  next_look_at: nextLookAt === null ? null : iso(nextLookAt),
  looks,
  reference: hint.reference,
  provider_reference: hint.providerReference,
  says: hint.says ?? null,
  matched_reference: matched
})
