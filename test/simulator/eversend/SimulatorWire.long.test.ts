import { appendFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, describe, expect, it, onTestFinished } from "vitest"
import * as Wire from "../../../src/providers/eversend/Wire.ts"
import { collection, decode, eventually, makeBench, newDataDir, payout, person, quotation, settled } from "./SimulatorFixture.ts"

const { receive, start } = makeBench(afterEach)

describe("the strictness of the simulator", () => {
  it("requires valid credentials and tokens", async () => {
    const running = await start()
    await expect(running.token("simulator", "wrong")).rejects.toThrow()
    expect((await running.call("GET", "/wallets", undefined, { authorization: "Bearer x.y.z" })).status).toBe(401)
    expect((await running.call("GET", "///wallets")).status).toBe(200)
    expect((await running.call("GET", "/nowhere")).status).toBe(404)
    expect((await running.call("GET", "/transactions/BP1")).status).toBe(404)
  })

  it("accepts a quotation once", async () => {
    const running = await start()
    const { quotation: quoted, token } = await quotation(running)
    expect(quoted).toMatchObject({ sourceAmount: "20000", totalFees: "1000", totalAmount: "21000.00" })
    const body = { ...person, token, transactionRef: "Q1" }
    const statuses = await Promise.all([1, 2, 3].map(async () => (await running.call("POST", "/payouts", body)).status))
    expect(statuses.sort()).toEqual([200, 400, 400])
    const forged = await running.call("POST", "/payouts", { ...body, token: `${token.slice(0, -4)}AAAA` })
    expect(forged.status).toBe(400)
  })

  it("accepts a second use of a reference", async () => {
    const running = await start()
    expect([(await payout(running, "1234", "D")).status, (await payout(running, "1234", "D")).status]).toEqual([200, 200])
    await settled(running, "D", "successful")
    expect(
      await eventually(
        () => running.executions("D"),
        ({ length }) => length === 2
      )
    ).toHaveLength(2)
  })

  it.each([
    ["a bank payout below the minimum", { type: "bank", amount: 9999 }],
    ["a momo payout below the minimum", { amount: 499 }],
    ["a fraction of a shilling", { amount: 1000.5 }],
    ["an amount that is a string", { amount: "1000" }],
    ["a country that is not served", { destinationCountry: "FR", destinationCurrency: "EUR" }],
    ["a method that the country lacks", { type: "bank", destinationCountry: "RW", destinationCurrency: "RWF" }],
    ["a wallet payout to nobody", { type: "eversend" }]
  ])("refuses to quote %s", async (_, change) => {
    const running = await start()
    const body = { sourceWallet: "UGX", amount: 20000, type: "momo", destinationCountry: "UG", destinationCurrency: "UGX" }
    const answer = await running.call("POST", "/payouts/quotation", { ...body, ...change })
    expect(answer.status).toBe(400)
    expect(decode(Wire.ErrorAnswer, answer.text).message).toBeTypeOf("string")
  })

  it("refuses a payout whose members are missing or wrong", async () => {
    const running = await start()
    const { token } = await quotation(running)
    const send = async (change: object) =>
      (await running.call("POST", "/payouts", { ...person, token, transactionRef: "M", ...change })).status
    expect(await send({ phoneNumber: "0700001234" })).toBe(400)
    expect(await send({ firstName: undefined })).toBe(400)
    expect(await send({ country: "KE" })).toBe(400)
    expect(await send({ transactionRef: 7 })).toBe(400)
    expect(await send({})).toBe(200)
  })

  it("checks the code of a collection and creates nothing for a wrong one", async () => {
    const running = await start()
    const phone = "+256700001234"
    const { pinId } = decode(Wire.OtpAnswer, (await running.call("POST", "/collections/otp", { phone })).text).data
    const send = (pin: unknown) => collection(running, "1234", "O1", { otp: { pinId, pin } })
    expect(JSON.parse((await send("000000")).text)).toMatchObject({ code: 400, message: "Invalid OTP" })
    expect((await send(123456)).status).toBe(500)
    expect(await running.search("O1")).toEqual([])
    expect((await send("123456")).status).toBe(200)
    expect((await send("123456")).status).toBe(400)
  })
})

describe("the other endpoints of the simulator", () => {
  it("sends a payer in Ghana to a page, and plays the ending after the visit", async () => {
    const running = await start()
    const change = { phone: "+233200001234", country: "GH", currency: "GHS", amount: 60.5 }
    expect((await collection(running, "1234", "G0", change)).status).toBe(400)
    const { text } = await collection(running, "1234", "G1", { ...change, redirectUrl: "https://shop.example/back" })
    const { redirectUrl, status } = decode(Wire.MomoCollectionAnswer, text).data
    expect(status).toBe("pending")
    expect(await running.executions("G1")).toEqual([])
    const visits = await Promise.all([1, 2].map(() => fetch(redirectUrl ?? "")))
    expect(visits.map((visit) => visit.status)).toEqual([200, 200])
    expect(await settled(running, "G1", "successful")).toMatchObject([{ amount: "60.50", fees: "0.91" }])
    expect(await running.executions("G1")).toMatchObject([{ amount_minor: 6050 }])
  })

  it("quotes across currencies from either side, and to wallets", async () => {
    const running = await start()
    const toKenya = { destinationCountry: "KE", destinationCurrency: "KES" }
    expect((await quotation(running, toKenya)).quotation).toMatchObject({
      sourceAmount: "20000",
      destinationAmount: "697.29",
      exchangeRate: "0.03486486486486"
    })
    const destination = await quotation(running, { ...toKenya, amount: 697.29, amountType: "DESTINATION" })
    expect(destination.quotation).toMatchObject({ sourceAmount: "20000", destinationAmount: "697.29" })
    const wallet = { type: "eversend", identifier: "tag", tag: "jane1234" }
    const { quotation: quoted, token } = await quotation(running, wallet)
    expect(quoted).toMatchObject({ totalFees: "500", merchant: { merchantExists: true } })
    expect((await running.call("POST", "/payouts", { token, transactionRef: "W1" })).status).toBe(200)
    await settled(running, "W1", "successful")
    const absent = await quotation(running, { ...wallet, tag: "jane0016" })
    expect(absent.quotation.merchant?.merchantExists).toBe(false)
  })

  it("lists banks and resolves accounts", async () => {
    const running = await start()
    expect(decode(Wire.BanksAnswer, (await running.call("GET", "/payouts/banks/UG")).text).data.length).toBeGreaterThan(2)
    expect(decode(Wire.CountriesAnswer, (await running.call("GET", "/payouts/countries")).text).data.countries).toHaveLength(10)
    const resolve = (accountNumber: string) =>
      running.call("POST", "/beneficiaries/accounts/banks", { accountNumber, bankCode: "14", countryCode: "NG" })
    expect(decode(Wire.ResolveBankAnswer, (await resolve("0012033048")).text).data.account_name).toBe("JOHN DOE")
    expect((await resolve("0012030016")).status).toBe(404)
    expect((await resolve("0012030017")).status).toBe(503)
  })

  it("exchanges once, with the ending that was chosen for the next exchange", async () => {
    const running = await start()
    const quote = async () => {
      const { text } = await running.call("POST", "/exchanges/quotation", { from: "UGX", to: "USD", amount: 10001 })
      return decode(Wire.ExchangeQuotationAnswer, text).data
    }
    const { quotation: quoted, token } = await quote()
    expect(quoted.destAmount).toBe("2.702972")
    const answer = decode(Wire.ExchangeAnswer, (await running.call("POST", "/exchanges", { token, transactionRef: "X1" })).text)
    expect(answer).toMatchObject({ code: "201", data: { destination: { currency: "USD", amount: "2.7" } } })
    expect((await running.call("POST", "/exchanges", { token, transactionRef: "X1" })).status).toBe(400)
    expect(await running.executions("X1")).toMatchObject([{ direction: "exchange", amount_minor: 10001 }])

    await running.control("POST", "/next", { provider: "eversend", operation: "exchange", ending: "0003" })
    const second = await quote()
    await expect(running.call("POST", "/exchanges", { token: second.token, transactionRef: "X2" })).rejects.toThrow()
    expect(await running.search("X2")).toMatchObject([{ type: "exchange", status: "successful" }])
  })

  it("keeps the accounts of two credentials apart", async () => {
    const running = await start()
    await payout(running, "1234", "L1")
    const other = { authorization: `Bearer ${await running.token("other", "other-secret")}` }
    const { text } = await running.call("GET", "/transactions?search=L1", undefined, other)
    expect(decode(Wire.TransactionsAnswer, text).data.transactions).toEqual([])
  })
})

describe("the control port and the account of the simulator", () => {
  it("turns calls away beyond the rate that is set, executes nothing of them, and says how many", async () => {
    const running = await start()
    const headers = { authorization: `Bearer ${await running.token()}` }
    const wallets = () => running.call("GET", "/wallets", undefined, headers)
    const turnedAway = async () => (await running.control("GET", "/rate")).json
    expect((await running.control("POST", "/rate", { provider: "eversend", calls_per_second: -1 })).status).toBe(400)
    await running.control("POST", "/rate", { provider: "eversend", calls_per_second: 0, retry_after_seconds: 3 })
    const away = await fetch(`${running.eversendBaseUrl}/payouts`, { method: "POST", headers, body: "{}" })
    expect([away.status, away.headers.get("retry-after")]).toEqual([429, "3"])
    expect((await wallets()).status).toBe(429)
    expect(await turnedAway()).toEqual({ eversend: { turned_away: 2 } })
    await running.control("POST", "/rate", { provider: "eversend", calls_per_second: null })
    expect((await wallets()).status).toBe(200)
    expect(await running.executions()).toEqual([])
  })

  it("refuses connections while it is down, and comes back on the same port", async () => {
    const running = await start()
    await running.control("POST", "/down", { provider: "eversend", down: true })
    const refused = await running.call("GET", "/wallets").catch((error: Error) => error.cause)
    expect(refused).toMatchObject({ code: "ECONNREFUSED" })
    await running.control("POST", "/down", { provider: "eversend", down: false })
    expect((await running.call("GET", "/wallets")).status).toBe(200)
    expect((await running.control("GET", "/ready")).json).toEqual({
      ok: true,
      providers: { eversend: { base_url: running.eversendBaseUrl } }
    })
  })

  it("remembers what it executed and does what is due after a restart, also after a torn line in its journal", async () => {
    const dataDir = newDataDir()
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
    const first = await start({ dataDir, delayMs: 1500 })
    const receiver = await receive(first)
    await payout(first, "0005", "K1")
    await payout(first, "1234", "K2")
    await first.stop()
    appendFileSync(join(dataDir, "simulator", "account.jsonl"), '[{"fact":"wallet","prov')

    const second = await start({ dataDir, delayMs: 1500 })
    expect(second.eversendBaseUrl).toBe(first.eversendBaseUrl)
    expect(await second.executions("K1")).toHaveLength(1)
    await settled(second, "K2", "successful")
    expect(await second.executions()).toHaveLength(2)
    const types = (await receiver.count(2)).map(({ genuine, type }) => ({ genuine, type }))
    expect(types).toEqual(Array.from({ length: 2 }, () => ({ genuine: true, type: "payout.success" })))
  })

  it("repeats a callback that was not answered 200, and at once when flushed", async () => {
    const running = await start()
    const receiver = await receive(running, (count) => (count === 1 ? 500 : 200))
    await payout(running, "1234", "F1")
    await receiver.count(1)
    await eventually(
      () => running.control("POST", "/callbacks/flush"),
      () => receiver.received.length === 2
    )
    expect(receiver.received.map(({ body }) => body)).toEqual([receiver.received[0]?.body, receiver.received[0]?.body])
  })

  it("lists the calls that named a reference", async () => {
    const running = await start()
    await payout(running, "1234", "Z1")
    await running.search("Z1")
    expect((await running.control("GET", "/calls?reference=Z1")).json).toMatchObject([
      { provider: "eversend", method: "POST", path: "/v1/payouts" },
      { provider: "eversend", method: "GET", path: "/v1/transactions?search=Z1" }
    ])
  })
})
