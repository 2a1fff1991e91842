import { createPublicKey, type KeyObject } from "node:crypto"
import { Cache, Duration, Effect, Option, type Scope } from "effect"
import { decoded } from "../AnswerParsing.ts"
import type { Connection } from "../Connection.ts"
import { readableRows } from "../Rows.ts"
import { PublicKey, PublicKeysAnswer } from "./Wire.ts"

/** A key for verifying callbacks. A key without a name matches any. */
interface CallbackKey {
  readonly id: string | null
  readonly key: KeyObject
}

export interface CallbackKeys {
  readonly current: () => ReadonlyArray<CallbackKey>
  /** Absent when the key is configured. */
  readonly refreshKeys?: Effect.Effect<void>
}

/** The minimum time between reads of the keys, however many callbacks fail to verify. */
const PAUSE = Duration.seconds(5)

/** The configured key, or otherwise pawaPay's published keys: read at the start, and again when a callback does not verify. */
export const openCallbackKeys = Effect.fn("pawapay.openCallbackKeys")(function* (
  pinned: KeyObject | null,
  { call, name }: Connection
): Effect.fn.Return<CallbackKeys, never, Scope.Scope> {
  if (pinned !== null) return { current: () => [{ id: null, key: pinned }] }
  let current: ReadonlyArray<CallbackKey> = []
  const fetch = Effect.fn("pawapay.callbackKeys")(function* () {
    const response = yield* call({ operation: "public_keys", method: "GET", path: "/public-key/http" })
    const listed = Option.getOrElse(decoded(PublicKeysAnswer, response), () => [])
    const keys = (yield* readableRows(name, "public_keys", PublicKey, listed)).flatMap(({ id, key: text }) => {
      const key = publicKeyOf(text)
      return key === undefined ? [] : [{ id, key }]
    })
    // The previous keys are kept, because pawaPay may only be unreachable.
    if (keys.length > 0) current = keys
    else yield* Effect.annotateLogs(Effect.logWarning("a provider's keys for callbacks cannot be read"), { provider: name })
  })
  const fetched = yield* Cache.make<"keys", void>({ lookup: fetch, capacity: 1, timeToLive: PAUSE })
  const refreshKeys = Cache.get(fetched, "keys")
  yield* Effect.forkScoped(refreshKeys)
  return { current: () => current, refreshKeys }
})

/** A P-256 public key as PEM, or as the base64 inside it; undefined for anything else. */
export const publicKeyOf = (text: string): KeyObject | undefined => {
  const inner = text.replaceAll("\\n", "\n").replace(/-----(BEGIN|END) PUBLIC KEY-----/g, "")
  const key = Option.getOrUndefined(read(Buffer.from(inner, "base64")))
  return key?.asymmetricKeyDetails?.namedCurve === "prime256v1" ? key : undefined
}

const read = Option.liftThrowable((der: Buffer) => createPublicKey({ key: der, format: "der", type: "spki" }))
