import { afterEach, describe, expect, it } from "vitest"
import * as Wire from "../../../src/providers/eversend/Wire.ts"
import { collection, decode, makeBench, payout, settled } from "./SimulatorFixture.ts"

const { receive, start } = makeBench(afterEach)

const kinds = [
  { kind: "payout", send: payout },
  { kind: "collection", send: collection }
] as const

describe.each(kinds)("the endings of a $kind", ({ kind, send }) => {
  it("succeeds after the delay, with one signed callback and one execution", async () => {
    const running = await start()
    const receiver = await receive(running)
    expect((await send(running, "1234", "R1")).status).toBe(200)
    const [callback] = await receiver.count(1)
    expect(callback).toMatchObject({ type: `${kind}.success`, genuine: true })
    expect(await running.search("R1")).toMatchObject([{ status: "successful", transactionRef: "R1", amount: "20000" }])
    expect(await running.executions("R1")).toMatchObject([
      {
        provider: "eversend",
        direction: kind,
        client_reference: "R1",
        amount_minor: 20000,
        currency: "UGX",
        status: "successful"
      }
    ])
  })

  it("0002: fails after it was accepted, and moves nothing", async () => {
    const running = await start()
    const receiver = await receive(running)
    await send(running, "0002", "R2")
    expect(await receiver.count(1)).toMatchObject([{ type: `${kind}.failed`, genuine: true }])
    expect(await running.search("R2")).toMatchObject([{ status: "failed" }])
    expect(await running.executions("R2")).toEqual([])
  })

  it("0003: executes and never answers", async () => {
    const running = await start()
    const receiver = await receive(running)
    await expect(send(running, "0003", "R3")).rejects.toThrow()
    expect(await receiver.count(1)).toMatchObject([{ type: `${kind}.success` }])
    expect(await running.executions("R3")).toHaveLength(1)
  })

  it("0004 and 0007: neither answers nor leaves anything behind", async () => {
    const running = await start()
    await expect(send(running, "0004", "R4")).rejects.toThrow()
    await expect(send(running, "0007", "R7")).rejects.toThrow("fetch failed")
    expect(await running.search("R4")).toEqual([])
    expect(await running.search("R7")).toEqual([])
    expect(await running.executions()).toEqual([])
  })

  it("0005 and 0006: execute and answer 500, or what is not JSON", async () => {
    const running = await start()
    const receiver = await receive(running)
    expect((await send(running, "0005", "R5")).status).toBe(500)
    expect(await running.executions("R5")).toHaveLength(1)
    const garbage = await send(running, "0006", "R6")
    expect(garbage.status).toBe(200)
    expect(() => JSON.parse(garbage.text)).toThrow()
    expect(await running.executions("R6")).toHaveLength(1)
    expect(await receiver.count(2)).toHaveLength(2)
  })

  it("0008: succeeds without a callback", async () => {
    const running = await start()
    const receiver = await receive(running)
    await send(running, "0008", "R8")
    await settled(running, "R8", "successful")
    await running.control("POST", "/callbacks/flush")
    expect(receiver.received).toEqual([])
  })

  it("0009: sends three callbacks, the first before the answer", async () => {
    const running = await start()
    const receiver = await receive(running)
    expect((await send(running, "0009", "R9")).status).toBe(200)
    expect(receiver.received.length).toBeGreaterThanOrEqual(1)
    const all = await receiver.count(3)
    expect(all.map(({ type }) => type)).toEqual(Array.from({ length: 3 }, () => `${kind}.success`))
    expect(await running.executions("R9")).toHaveLength(1)
  })

  it("0010: stays pending", async () => {
    const running = await start()
    const receiver = await receive(running)
    await send(running, "0010", "R10")
    await send(running, "1234", "R10x")
    await receiver.count(1)
    expect(await running.search("R10")).toMatchObject([{ status: "pending" }])
    expect(await running.executions("R10")).toEqual([])
  })

  it("0011: says success, then pending", async () => {
    const running = await start()
    const receiver = await receive(running)
    await send(running, "0011", "R11")
    expect((await receiver.count(2)).map(({ type }) => type)).toEqual([`${kind}.success`, `${kind}.pending`])
    expect(await running.search("R11")).toMatchObject([{ status: "successful" }])
  })

  it("0012: a forged and a signed callback say success while the query says pending", async () => {
    const running = await start()
    const receiver = await receive(running, (count) => (count === 1 ? 401 : 200))
    await send(running, "0012", "R12")
    expect(await receiver.count(2)).toMatchObject([
      { type: `${kind}.success`, genuine: false },
      { type: `${kind}.success`, genuine: true }
    ])
    expect(await running.search("R12")).toMatchObject([{ status: "pending" }])
    expect(await running.executions("R12")).toEqual([])
  })

  it("0015: succeeds, then is returned", async () => {
    const running = await start()
    const receiver = await receive(running)
    await send(running, "0015", "R15")
    expect((await receiver.count(2)).map(({ type }) => type)).toEqual([`${kind}.success`, `${kind}.refunded`])
    expect(await running.search("R15")).toMatchObject([{ status: "successful", isRefunded: true }])
    expect((await running.executions("R15")).map(({ direction }) => direction)).toEqual([kind, "return"])
  })

  it("0017: answers 503 and moves nothing", async () => {
    const running = await start()
    expect((await send(running, "0017", "R17")).status).toBe(503)
    expect(await running.search("R17")).toEqual([])
  })
})

describe("endings that differ between payouts and collections", () => {
  it("answers a refused payment as failed", async () => {
    const running = await start()
    for (const ending of ["0001", "0013", "0016"])
      expect(decode(Wire.PayoutAnswer, (await payout(running, ending, `P${ending}`)).text).data.transaction.status).toBe("failed")
    for (const ending of ["0001", "0016"])
      expect(decode(Wire.MomoCollectionAnswer, (await collection(running, ending, `C${ending}`)).text).data.status).toBe("failed")
    expect((await collection(running, "0013", "C13")).status).toBe(200)
    await settled(running, "C13", "successful")
    expect(await running.executions()).toHaveLength(1)
  })

  it("0014: takes a larger fee from a payout, and collects less", async () => {
    const running = await start()
    await payout(running, "0014", "P14")
    expect(await settled(running, "P14", "successful")).toMatchObject([{ amount: "20000", fees: "1200" }])
    await collection(running, "0014", "C14")
    expect(await settled(running, "C14", "successful")).toMatchObject([{ amount: "18000", fees: "270" }])
    expect(await running.executions("C14")).toMatchObject([{ amount_minor: 18000 }])
  })
})
