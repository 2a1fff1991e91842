import { Data } from "effect"

/** A class of errors that contain only a one-line message for a person. */
export const MessageError = <const Tag extends string>(tag: Tag) =>
  class extends Data.TaggedError(tag)<{ readonly message: string }> {
    constructor(message: string) {
      super({ message })
    }
  }
