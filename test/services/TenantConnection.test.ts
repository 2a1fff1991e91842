import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { WebhookSender } from "../../src/services/ports/WebhookSender.ts"
import { tenantConnection } from "../../src/services/TenantConnection.ts"
import { policy, receiver } from "./WebhookBench.ts"

const WHOLE_MS = 400

const posted = (url: string) =>
  Effect.flatMap(WebhookSender, ({ post }) => post({ url, headers: {}, body: "{}" })).pipe(
    Effect.provide(Layer.provide(tenantConnection({ connectMs: WHOLE_MS, wholeMs: WHOLE_MS }), policy({})))
  )

describe("TenantConnection", () => {
  it.live("believes a status that was said in time, whatever becomes of the rest of the answer", () =>
    Effect.gen(function* () {
      const { received, url } = yield* receiver(
        (response) => void response.writeHead(202, { "retry-after": "7" }).write("so far")
      )
      expect(yield* posted(url)).toEqual({ status: 202, excerpt: "so far", retryAfter: "7" })
      const { url: other } = yield* receiver((response) => response.writeHead(204, { "content-length": "5" }).flushHeaders())
      expect(yield* posted(other)).toEqual({ status: 204, excerpt: "", retryAfter: null })
      expect(received).toHaveLength(1)
    })
  )

  it.live("says that an endpoint was too slow when it said no status", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver(() => {})
      expect(yield* posted(url)).toEqual({ status: null, excerpt: `no answer within ${WHOLE_MS} ms`, retryAfter: null })
    })
  )
})
