import { Effect, Layer, Option } from "effect"
import { describe, expect, it } from "vitest"
import { canonicalQuery, stringToSign } from "../../src/domain/StringToSign.ts"
import { bodyHash } from "../../src/services/admission/Signature.ts"
import { edge, port } from "../support/EdgeServer.ts"
import { send } from "../support/RawHttp.ts"
import file from "./signing-vectors.json" with { type: "json" }

const onEdge = <A>(use: (port: number) => Promise<A>) => {
  const { layer } = edge()
  return Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const context = yield* Layer.build(layer)
        return yield* Effect.promise(() => use(Effect.runSync(Effect.provide(port, context))))
      })
    )
  )
}

describe("signing vectors", () => {
  const accepted = file.vectors.filter(({ verdict }) => verdict === "accepted")
  const refused = file.vectors.filter(({ verdict }) => verdict === "401")

  it("are 36 accepted and 31 refused requests", () => expect([accepted.length, refused.length]).toEqual([36, 31]))

  it.each(accepted)("produce the expected text to sign: $name", (vector) => {
    const { method, target, host, headers, body_base64 } = vector.request
    const [, query = ""] = target.split(/\?(.*)/s)
    expect(canonicalQuery(query)).toEqual(Option.some(vector.canonical_query))
    const text = stringToSign({
      appId: file.app_id,
      keyId: file.key_id,
      host,
      method,
      target,
      timestamp: headers["X-Gateway-Timestamp"] ?? "",
      nonce: headers["X-Gateway-Nonce"] ?? "",
      bodyHash: bodyHash(Buffer.from(body_base64, "base64"))
    })
    expect(text).toEqual(Option.some(vector.string_to_sign))
  })

  it("get the expected verdict from the server, each with a fresh nonce store", async () => {
    const bodies = new Set<string>()
    for (const { name, request, verdict } of file.vectors) {
      const headers = [["Host", request.host] as const, ...Object.entries(request.headers)]
      const answer = await onEdge((port) => send(port, { ...request, headers, body: Buffer.from(request.body_base64, "base64") }))
      if (verdict === "401") bodies.add(answer.text)
      expect([name, answer.status === 401], answer.text).toEqual([name, verdict === "401"])
    }
    expect(bodies.size).toBe(1)
  })
})
