import { Data } from "effect"

/** A class of errors that tell a person in one line what went wrong. Nothing else is in them. */
export const MessageError = <const Tag extends string>(tag: Tag) =>
  class extends Data.TaggedError(tag)<{ readonly message: string }> {
    constructor(message: string) {
      super({ message })
    }
  }
