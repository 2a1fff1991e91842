import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { ProviderError } from "../../../src/domain/errors/Retriable.ts"
import { AppId } from "../../../src/domain/Ids.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { CodesPg } from "../../../src/persistence/requests/CodesPg.ts"
import { VaultPg } from "../../../src/persistence/vault/VaultPg.ts"
import { codeSender } from "../../../src/services/collections/CodeSender.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { fake } from "../../fakes/Fake.ts"
import { fakePolicy, policy } from "../../fakes/FakePolicy.ts"
import { givenDatabase, masterKey } from "../../support/TestDatabase.ts"

const source = { _tag: "momo", msisdn: Redacted.make("256772120001"), network: "MTN", country: "UG" } as const
const number = { appId: AppId.make("acme"), mode: "live", partyHash: new Uint8Array(32).fill(7) } as const
const sent = Effect.succeed({ pinId: "p-1" })
const failed = Effect.fail(new ProviderError({}))

const given = Effect.gen(function* () {
  const url = yield* givenDatabase
  const ports = Layer.mergeAll(
    CodesPg.pipe(Layer.provide(VaultPg.layer(masterKey)), Layer.provide(Database.layer({ url }))),
    fake(VelocityLimits, { own: () => Effect.succeed([]) }),
    fakePolicy()
  )
  return yield* Effect.provideContext(codeSender, yield* Layer.build(Layer.fresh(ports)))
})

/** Sends by each of these in turn, and says what came of each. */
const story = (
  promise: string,
  attempts: ReadonlyArray<Effect.Effect<{ readonly pinId: string } | "unknown", ProviderError>>,
  expected: ReadonlyArray<string>
) =>
  it.effect(promise, () =>
    Effect.gen(function* () {
      const send = yield* given
      const answers = yield* Effect.forEach(attempts, (attempt) =>
        send({ sendCode: () => attempt }, number, source, null).pipe(
          Effect.map(() => "sent"),
          Effect.catch(({ _tag }) => Effect.succeed(_tag))
        )
      )
      expect(answers).toStrictEqual(expected)
    }).pipe(Effect.scoped)
  )

story("a number is sent three codes in ten minutes", [sent, sent, sent, sent], ["sent", "sent", "sent", "rate_limited"])

story(
  "a code that the provider did not send is none of them",
  [failed, sent, failed, failed, sent, failed, sent, sent],
  ["provider_error", "sent", "provider_error", "provider_error", "sent", "provider_error", "sent", "rate_limited"]
)

story(
  "a code that the provider said nothing of is one of them, because it may have arrived",
  [Effect.succeed("unknown"), sent, Effect.succeed("unknown"), sent],
  ["provider_error", "sent", "provider_error", "rate_limited"]
)

it.effect("an interrupted sending may have arrived, and counts as sent", () =>
  Effect.gen(function* () {
    const send = yield* given
    const begun = yield* Deferred.make<void>()
    const unheard = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
    const fiber = yield* Effect.forkChild(send({ sendCode: () => unheard }, number, source, null))
    yield* Deferred.await(begun)
    yield* Fiber.interrupt(fiber)
    const again = send({ sendCode: () => sent }, number, source, null)
    expect(yield* again).toStrictEqual({
      _tag: "otp",
      pinId: "p-1",
      message: "Ask the payer for the code that was sent to ••••0001.",
      expiresAt: policy.otpExpiryMs
    })
    yield* again
    expect(yield* Effect.flip(again)).toMatchObject({ _tag: "rate_limited", scope: "number", retry_after_seconds: 600 })
  }).pipe(Effect.scoped)
)
