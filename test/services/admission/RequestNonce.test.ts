import { it } from "@effect/vitest"
import { Cause, Effect, Exit, Option } from "effect"
import { describe, expect } from "vitest"
import { AppId } from "../../../src/domain/Ids.ts"
import { requestNonce } from "../../../src/services/admission/RequestNonce.ts"

const caller = { appId: AppId.make("acme"), keyId: "k", mode: "live", role: "tenant" } as const
const use = { caller, nonce: "n".repeat(16), expiresAt: 0 }

/** A nonce, and how often its own commit and its log line were made. */
const given = (isOwn: boolean | "lost") => {
  const seen = { commits: 0, lines: 0 }
  const alone = () =>
    Effect.suspend(() => {
      seen.commits++
      return isOwn === "lost" ? Effect.die(new Error("the answer was lost")) : Effect.succeed(isOwn)
    })
  return {
    seen,
    nonce: requestNonce(
      use,
      alone,
      Effect.sync(() => void seen.lines++)
    )
  }
}

const tag = <A>(effect: Effect.Effect<A, { readonly _tag: string }>) =>
  Effect.map(Effect.exit(Effect.result(effect)), (exit) =>
    Exit.isFailure(exit)
      ? Cause.pretty(exit.cause).split("\n")[0]
      : exit.value._tag === "Success"
        ? "done"
        : exit.value.failure._tag
  )

const handedTwice = "Error: a nonce was handed to a second commit"

describe("the nonce of a request", () => {
  it.effect("is spent once, however often it is asked for", () =>
    Effect.gen(function* () {
      const { nonce, seen } = given(true)
      expect([yield* tag(nonce.settle), yield* tag(nonce.settle), yield* tag(nonce.settle)]).toEqual(["done", "done", "done"])
      expect(seen).toEqual({ commits: 1, lines: 0 })
    })
  )

  it.effect("fails each time where another request spent it, and is written down once", () =>
    Effect.gen(function* () {
      const { nonce, seen } = given(false)
      const tags = [yield* tag(nonce.settle), yield* tag(nonce.settle), yield* tag(nonce.settle)]
      expect(tags).toEqual(["unauthorized", "unauthorized", "unauthorized"])
      expect(seen).toEqual({ commits: 1, lines: 1 })
    })
  )

  it.effect("is not spent again by itself after the commit that it was handed to", () =>
    Effect.gen(function* () {
      const { nonce, seen } = given(true)
      expect(yield* nonce.spendWith((handed) => Effect.succeed(Option.some(handed)))).toBe(use)
      expect([yield* tag(nonce.settle), yield* tag(nonce.settle)]).toEqual(["done", "done"])
      expect(seen).toEqual({ commits: 0, lines: 0 })
    })
  )

  it.effect("fails where the commit that it was handed to found it spent, and goes on failing", () =>
    Effect.gen(function* () {
      const { nonce, seen } = given(true)
      const tags = [yield* tag(nonce.spendWith(() => Effect.succeedNone)), yield* tag(nonce.settle), yield* tag(nonce.settle)]
      expect(tags).toEqual(["unauthorized", "unauthorized", "unauthorized"])
      expect(seen).toEqual({ commits: 0, lines: 1 })
    })
  )

  it.effect("is handed to one commit: a second one dies, and so does one after it was spent", () =>
    Effect.gen(function* () {
      const { nonce } = given(true)
      const commit = nonce.spendWith(() => Effect.succeed(Option.some("done")))
      expect([yield* tag(commit), yield* tag(commit)]).toEqual(["done", handedTwice])
      const other = given(true).nonce
      expect([yield* tag(other.settle), yield* tag(other.spendWith(() => Effect.succeed(Option.some(1))))]).toEqual([
        "done",
        handedTwice
      ])
    })
  )

  it.effect("is not spent again where nobody knows whether it was spent", () =>
    Effect.gen(function* () {
      const { nonce, seen } = given("lost")
      expect([yield* tag(nonce.settle), yield* tag(nonce.settle)]).toEqual(["Error: the answer was lost", "done"])
      expect(seen).toEqual({ commits: 1, lines: 0 })
    })
  )

  it.effect("is settled once its commit has begun, unless another request spent it", () =>
    Effect.gen(function* () {
      const unspent = given(true).nonce
      const [spent, lost, reused] = [given(true).nonce, given("lost").nonce, given(false).nonce]
      for (const nonce of [spent, lost, reused]) yield* tag(nonce.settle)
      expect([unspent, spent, lost, reused].map((nonce) => nonce.isSettled())).toEqual([false, true, true, false])
    })
  )
})
