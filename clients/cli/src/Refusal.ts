/** Why a command did not do what it was asked for: one clear line, and exit code 1. */
export class Refusal extends Error {
  /** The gateway's own code, where it was the gateway that refused. */
  readonly code: string

  constructor(message: string, code = "") {
    super(message)
    this.code = code
  }
}

/** Neither done nor refused, as after a silence: the same command goes on. Exit code 3. */
export class Unfinished extends Refusal {}

/** What is wrong with the command line itself: one clear line, and exit code 2. */
export class WrongUsage extends Error {}
