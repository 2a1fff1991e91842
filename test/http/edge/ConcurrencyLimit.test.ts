import { connect } from "node:net"
import { Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import { makeConcurrencyLimit } from "../../../src/http/edge/ConcurrencyLimit.ts"
import { type EdgeClient, onEdge } from "../../support/EdgeClient.ts"
import type { EdgeOptions } from "../../support/EdgeServer.ts"
import { signed } from "../../support/RawHttp.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { payout } from "../../support/SampleTransactions.ts"

const body = JSON.stringify(momoPayout("1234"))
const headers = (key: string) =>
  [
    ["Idempotency-Key", key],
    ["Content-Type", "application/json"]
  ] as const
const pay = ({ signed }: EdgeClient, key: string, text = body) => signed("POST", "/v1/payouts", headers(key), text)
const shed = {
  status: 429,
  after: "1",
  error: { code: "rate_limited", retriable: true, details: { scope: "server", retry_after_seconds: 1 } }
}
const said = (answer: { status: number; headers: Readonly<Record<string, string>>; text: string }) => ({
  status: answer.status,
  after: answer.headers["retry-after"],
  error: JSON.parse(answer.text).error
})

/** A payout that goes on until the test opens the gate. */
const gated = () => {
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const createPayout: EdgeOptions["createPayout"] = (_, __, { claim }) =>
    Effect.promise(() => {
      begun.resolve()
      return gate.promise
    }).pipe(Effect.as(payout({ reference: claim.reference })))
  return { begun: begun.promise, open: () => gate.resolve(), createPayout }
}

describe("a request beyond the number of requests at once", () => {
  const first = gated()
  it(
    "is refused after its signature and before its JSON, claims no key, and runs with the same key once there is a place",
    onEdge(
      async (client) => {
        const running = pay(client, "first")
        await first.begun
        expect(said(await pay(client, "second"))).toMatchObject(shed)
        expect(said(await pay(client, "second", "{"))).toMatchObject(shed)
        expect((await client.ask("POST", "/v1/payouts", undefined, "{")).status).toBe(401)
        expect([...client.behind.claims.keys()]).toEqual(["first"])
        // What moves no money has places of its own.
        expect((await client.signed("GET", "/v1/float")).status).toBe(200)
        expect((await client.ask("GET", "/health")).status).toBe(200)
        first.open()
        expect((await running).status).toBe(201)
        expect((await pay(client, "second")).status).toBe(201)
      },
      { places: { money: 2, reads: 2 }, createPayout: first.createPayout }
    )
  )

  const left = gated()
  it(
    "gets no place while the work of a disconnected client still runs",
    onEdge(
      async (client) => {
        const lines = [...signed("POST", "/v1/payouts", body), ...headers("first"), ["Content-Length", String(body.length)]]
        const socket = connect(client.port, "127.0.0.1", () =>
          socket.write(
            `POST /v1/payouts HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}`).join("\r\n")}\r\n\r\n${body}`
          )
        )
        await left.begun
        socket.destroy()
        expect(said(await pay(client, "second"))).toMatchObject(shed)
        left.open()
        while ((await pay(client, "second")).status === 429) await client.signed("GET", "/v1/float")
        expect([...client.behind.claims.keys()]).toEqual(["first", "second"])
      },
      { places: { money: 2, reads: 2 }, createPayout: left.createPayout }
    )
  )
})

describe("a request whose answer was not read", () => {
  const written = (method: string, target: string, lines: ReadonlyArray<readonly [string, string]>, text = "") =>
    `${method} ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${text}`
  const payoutLines = () =>
    [...signed("POST", "/v1/payouts", body), ...headers("first"), ["Content-Length", String(body.length)]] as const
  const stories = [
    [
      "a tenant's",
      written("GET", "/v1/float", signed("GET", "/v1/float", "")),
      (client: EdgeClient) => client.signed("GET", "/v1/float")
    ],
    ["an address's", written("GET", "/health", [["Host", "a"]]), (client: EdgeClient) => client.ask("GET", "/health")]
  ] as const
  for (const [whose, queued, again] of stories) {
    for (const ending of ["it is read", "its connection is closed"] as const) {
      const work = gated()
      it(
        `keeps ${whose} place until ${ending}`,
        onEdge(
          async (client) => {
            const socket = connect(client.port, "127.0.0.1", () =>
              socket.write(`${written("POST", "/v1/payouts", payoutLines(), body)}${queued}`)
            )
            await work.begun
            // Its answer is there, and waits for the one before it.
            while (client.behind.logs.length === 0) await new Promise((resolve) => setImmediate(resolve))
            expect(said(await again(client))).toMatchObject(shed)
            if (ending === "it is read") {
              work.open()
              socket.resume()
            } else socket.destroy()
            while ((await again(client)).status === 429);
            work.open()
            socket.destroy()
          },
          { places: { money: 2, reads: 2 }, createPayout: work.createPayout }
        )
      )
    }
  }
})

const refusedAll = (exits: ReadonlyArray<Exit.Exit<unknown, unknown>>) => exits.every((exit) => !Exit.isSuccess(exit))

describe("the requests that a process works on at once", () => {
  /** Takes places until one is refused; how many. */
  const filling = (place: ReturnType<typeof makeConcurrencyLimit>) => (holder: string) => {
    let taken = 0
    while (Exit.isSuccess(Effect.runSync(Effect.exit(place("money", holder))))) taken++
    return taken
  }

  it("are divided among the tenants that want many, and always leave some for others", () => {
    const fill = filling(makeConcurrencyLimit({ money: 1024, reads: 1 }))
    expect(fill("alone")).toBe(384)
    const [second, third] = [fill("second"), fill("third")]
    expect([second, third]).toEqual([192, 96])
    // However many hold many, a quarter is left for who holds few.
    const crowd = Array.from({ length: 8 }, (_, at) => fill(`greedy ${at}`))
    expect(384 + second + third + crowd.reduce((sum, count) => sum + count, 0)).toBeLessThan(1024)
    expect(fill("a newcomer")).toBe(16)
  })

  it("are shared equally by tenants that grow together", () => {
    const place = makeConcurrencyLimit({ money: 1024, reads: 1 })
    const held = { a: 0, b: 0 }
    const take = (tenant: "a" | "b") => {
      const isTaken = Exit.isSuccess(Effect.runSync(Effect.exit(place("money", tenant))))
      held[tenant] += isTaken ? 1 : 0
      return isTaken
    }
    for (let goesOn = true; goesOn; ) goesOn = [take("a"), take("b")].includes(true)
    expect(held).toEqual({ a: 256, b: 256 })
  })

  it("are all freed at the end, and are separate for money and reads", () => {
    const place = makeConcurrencyLimit({ money: 2, reads: 2 })
    const take = (...asked: Parameters<typeof place>) => Effect.runSync(Effect.exit(place(...asked)))
    const given = [take("money", "a"), take("money", "b")]
    expect(given.every(Exit.isSuccess)).toBe(true)
    expect(refusedAll([take("money", "a"), take("money", "c")])).toBe(true)
    expect([take("reads", "a"), take("callbacks", "a")].every(Exit.isSuccess)).toBe(true)
    for (const exit of given) if (Exit.isSuccess(exit)) exit.value()
    expect([take("money", "c"), take("money", "d")].every(Exit.isSuccess)).toBe(true)
  })
})
