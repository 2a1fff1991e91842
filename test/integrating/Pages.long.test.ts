import { Effect, Layer, Logger, ManagedRuntime } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../support/FreePort.ts"
import { itWith } from "../support/Installed.ts"
import { demandCodes } from "../support/OtpRequests.ts"
import { Stack, tenantOn } from "../support/Stack.ts"
import { type Block, blocksOf, type Language } from "./PageExamples.ts"
import { comparable, follow, type Given } from "./PageReader.ts"

const runtime = ManagedRuntime.make(Layer.provideMerge(Stack.layer({}, { delayMs: 150 }), Logger.layer([])))
beforeAll(() => runtime.runPromise(Effect.flatMap(Stack, ({ gateway }) => demandCodes(gateway, "KE"))))
afterAll(() => runtime.dispose())

/** A tenant with a million shillings, as `npm start` makes one. */
const given = () =>
  runtime.runPromise(
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const { key, mode } = yield* tenantOn(gateway, 1_000_000n)
      return {
        gateway: gateway.url,
        simulator: simulator.controlUrl,
        key: { app_id: key.appId, key_id: key.keyId, api_key: key.apiKey, signing_secret: key.secret, mode },
        port: yield* freePort
      } satisfies Given
    })
  )

const getsWhatIsShown = async (language: Language, blocks: ReadonlyArray<Block>) => {
  const steps = await follow(language, blocks, await given())
  const answered = steps.flatMap(({ at, printed, shell, shown }) =>
    shown === undefined
      ? []
      : [{ at, shell, shown: comparable(shown.kind, shown.text), printed: comparable(shown.kind, printed) }]
  )
  expect(answered.length).toBeGreaterThan(0)
  expect(answered.map(({ at, printed, shell }) => ({ at, shell, answer: printed }))).toEqual(
    answered.map(({ at, shell, shown }) => ({ at, shell, answer: shown }))
  )
}

/** On a machine that has much else to do. */
const LONG_MS = 240_000
const LAST = "Errors that no number triggers"
const pages = (...names: ReadonlyArray<string>) => names.flatMap(blocksOf).filter(({ section }) => section !== LAST)

describe.concurrent("a reader of docs/integrating gets the answers that its pages show", () => {
  itWith("python3", "--version")(
    "in Python",
    () =>
      getsWhatIsShown(
        "Python",
        pages(
          "start",
          "idempotency-and-retries",
          "testing",
          "money",
          "signing",
          "pay-a-list",
          "close-your-month",
          "customer-says"
        )
      ),
    LONG_MS
  )
  itWith("php", "--version")("in PHP", () => getsWhatIsShown("PHP", pages("start", "idempotency-and-retries", "money")), LONG_MS)
  // What is the same request in every language was made twice by then.
  it(
    "in TypeScript",
    () =>
      getsWhatIsShown(
        "TypeScript",
        pages("start", "money").filter(({ kind, section }) => kind !== "sh" || !/^[46]|^Two|^Quote/.test(section))
      ),
    LONG_MS
  )
})

describe("a provider that is down", () => {
  itWith("python3", "--version")(
    "is answered as docs/integrating/testing.md shows",
    () => {
      const start = blocksOf("start").filter(({ section }) => section === "1. Sign a request" || section === "3. Pay out")
      const files = start.filter(
        ({ file, kind, section }) => file !== undefined || (kind === "sh" && section === "1. Sign a request")
      )
      return getsWhatIsShown("Python", [...files, ...blocksOf("testing").filter(({ section }) => section === LAST)])
    },
    LONG_MS
  )
})
