import { channel } from "node:diagnostics_channel"

/** One statement on its way to the database. */
export interface SentStatement {
  readonly text: string
  /** Whichever it goes by: what a connection was sent before says whether it is inside a transaction. */
  readonly connection: object
}

const statements = channel("gateway/persistence/SentStatements")

/** Tells whoever in this process subscribed to the channel. Nobody does while a gateway works: then it costs one look. */
export const announce = (connection: object, text: string): void => {
  if (statements.hasSubscribers) statements.publish({ connection, text } satisfies SentStatement)
}
