import { subscribe } from "node:diagnostics_channel"
import { appendFileSync } from "node:fs"
import { join } from "node:path"

/** Where each process of a run writes down the statements that its gateways sent; unset, nobody listens. */
const { SENT_STATEMENTS: folder } = process.env

/** Texts that are written down already, for each of the four places in which one may be sent. */
const written = [0, 1, 2, 3].map(() => new Set<string>())
const inTransaction = new WeakSet<object>()

/** A connection is its own while a transaction has it, so that BEGIN says what all that follows on it is inside of. */
const note = (folder: string, { connection, text }: { readonly connection: object; readonly text: string }): void => {
  if (text.startsWith("BEGIN")) inTransaction.add(connection)
  const place = { inTransaction: inTransaction.has(connection), isForCitus: Reflect.has(globalThis, forCitus) }
  const known = written[Number(place.inTransaction) + 2 * Number(place.isForCitus)]
  if (known === undefined || known.has(text)) return
  known.add(text)
  appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify({ text, ...place })}\n`)
}

/** Set in a process while its gateways work as on Citus. */
export const forCitus = Symbol.for("gateway/test/ForCitus")

const isSent = (message: unknown): message is { readonly connection: object; readonly text: string } =>
  typeof message === "object" && message !== null && "text" in message && "connection" in message

// Files of one process share it: each file would subscribe once more.
const subscribed = Symbol.for("gateway/test/SentStatements")
if (folder !== undefined && !Reflect.has(globalThis, subscribed)) {
  Reflect.set(globalThis, subscribed, true)
  subscribe("gateway/persistence/SentStatements", (message) => {
    if (isSent(message)) note(folder, message)
  })
}
