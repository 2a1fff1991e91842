import { Effect, Option } from "effect"
import { Unauthorized } from "../../domain/errors/Retriable.ts"
import type { NonceUse } from "../ports/Nonces.ts"

/**
 * The nonce of one request whose signature was verified. It is spent once: by itself, or in the commit that claims the request's
 * idempotency key. Until it is known to be spent nothing is done for the caller but checks and reads.
 */
export interface RequestNonce {
  /** Done once it is known to be this request's: at once where it was spent before. Fails where another request spent it, dies where nobody knows. */
  readonly spend: Effect.Effect<void, Unauthorized>
  /**
   * Spends it in a commit of the caller's, which answers none where another request spent it before; that fails here. A nonce is handed
   * to one commit: a second one is a bug and dies.
   */
  readonly spendWith: <A>(commit: (use: NonceUse) => Effect.Effect<Option.Option<A>>) => Effect.Effect<A, Unauthorized>
  /**
   * For the end of a request: spends it where nobody has begun to, and fails where another request spent it. Leaves alone one whose commit
   * is under way or was lost: its request answers by itself what that means.
   */
  readonly settle: Effect.Effect<void, Unauthorized>
  /** Whether `settle` has nothing to do and nothing to refuse. */
  readonly isSettled: () => boolean
}

/** `spendAlone` is the commit of a nonce that goes by itself; `reused` is what is written down, once, of one that was spent before. */
export const requestNonce = (
  use: NonceUse,
  spendAlone: (use: NonceUse) => Effect.Effect<boolean>,
  reused: Effect.Effect<void>
): RequestNonce => {
  let state: "unspent" | "under way" | "spent" | "reused" = "unspent"

  const spendWith: RequestNonce["spendWith"] = (commit) =>
    Effect.suspend(() => {
      if (state !== "unspent") return Effect.die(new Error("a nonce was handed to a second commit"))
      state = "under way"
      return Effect.flatMap(commit(use), (answer) => {
        state = Option.isSome(answer) ? "spent" : "reused"
        return Option.isSome(answer) ? Effect.succeed(answer.value) : Effect.andThen(reused, refusal)
      })
    })

  const spend = Effect.suspend((): Effect.Effect<void, Unauthorized> => {
    switch (state) {
      case "unspent":
        return spendWith(() => Effect.map(spendAlone(use), (isOwn) => (isOwn ? Option.some<void>(undefined) : Option.none())))
      case "under way":
        return Effect.die(new Error("nobody knows whether the nonce was spent"))
      case "spent":
        return Effect.void
      case "reused":
        return refusal
    }
  })

  return {
    spend,
    spendWith,
    settle: Effect.suspend(() => (state === "under way" ? Effect.void : spend)),
    isSettled: () => state === "under way" || state === "spent"
  }
}

const refusal = Effect.suspend(() => Effect.fail(new Unauthorized()))
