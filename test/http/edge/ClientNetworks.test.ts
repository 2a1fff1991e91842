import { describe, expect, it } from "vitest"
import { type EdgeClient, onEdge } from "../../support/EdgeClient.ts"

const answered = async ({ signed }: EdgeClient, forwardedFor: string) => {
  const { headers, status, text } = await signed("GET", "/v1/float", [
    ["X-Forwarded-For", forwardedFor],
    ["X-Request-Id", "r1"]
  ])
  return { names: Object.keys(headers).sort(), status, text }
}

describe("a key that is held to networks", () => {
  it(
    "is refused from another address in the bytes of every 401, and believes a trusted proxy alone",
    onEdge(
      async (client) => {
        expect((await answered(client, "10.9.8.7")).status).toBe(200)
        // What the client itself wrote stands before the address that the proxy saw.
        const elsewhere = await answered(client, "10.9.8.7, 203.0.113.4")
        const wrong = await client.ask("GET", "/v1/float", [["X-Request-Id", "r1"]])
        expect([elsewhere.status, elsewhere.text, elsewhere.names]).toEqual([401, wrong.text, Object.keys(wrong.headers).sort()])
      },
      { keyAddresses: ["10.0.0.0/8"], trustedProxies: ["127.0.0.1"] }
    )
  )

  it(
    "counts the address of the socket where no proxy is trusted",
    onEdge(async (client) => expect((await answered(client, "10.9.8.7")).status).toBe(401), {
      keyAddresses: ["10.0.0.0/8"],
      trustedProxies: []
    })
  )

  it(
    "works from the socket's own address",
    onEdge(async (client) => expect((await answered(client, "203.0.113.4")).status).toBe(200), {
      keyAddresses: ["127.0.0.1"],
      trustedProxies: []
    })
  )
})
