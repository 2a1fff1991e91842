import { channel } from "node:diagnostics_channel"

/** One statement on its way to the database. */
export interface SentStatement {
  readonly text: string
  /** Whichever it goes by: what a connection was sent before says whether it is inside a transaction. */
  readonly connection: object
}

const statements = channel("gateway/persistence/SentStatements")

/** Announces a statement to the subscribers of the channel in this process. A running gateway has none: then it costs one look. */
export const announce = (connection: object, text: string): void => {
  if (statements.hasSubscribers) statements.publish({ connection, text } satisfies SentStatement)
}
