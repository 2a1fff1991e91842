import { Effect, Option } from "effect"
import { Unauthorized } from "../../domain/errors/Retriable.ts"
import type { NonceUse } from "../ports/Nonces.ts"

/**
 * The nonce of one request whose signature was verified. It is spent once, in one of two places: by the edge, or in the commit
 * that claims the request's idempotency key. Until it is known to be spent, only checks and reads are made for the caller.
 */
export interface RequestNonce {
  /**
   * Spends it in the caller's commit, which returns none when another request spent it before; that fails here. A nonce can be
   * passed to one commit only: a second one is a bug and dies.
   */
  readonly spendWith: <A>(commit: (use: NonceUse) => Effect.Effect<Option.Option<A>>) => Effect.Effect<A, Unauthorized>
  /**
   * Spends it in its own commit if no spend has begun, and fails when another request has spent it; dies when the outcome of
   * its own commit is unknown. Does nothing while a commit with it is in progress or when one's outcome is unknown: the request
   * handles that case itself.
   */
  readonly settle: Effect.Effect<void, Unauthorized>
  /** Whether `settle` has nothing to do and nothing to refuse. */
  readonly isSettled: () => boolean
}

/** `spendAlone` commits the nonce by itself. `reused` records, once, that the nonce was spent before. */
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

  const alone = spendWith((own) => Effect.map(spendAlone(own), (isOwn) => (isOwn ? Option.some<void>(undefined) : Option.none())))
  const isSettled = () => state === "under way" || state === "spent"
  const settle = Effect.suspend(() => (state === "unspent" ? alone : isSettled() ? Effect.void : refusal))
  return { spendWith, settle, isSettled }
}

const refusal = Effect.suspend(() => Effect.fail(new Unauthorized()))
