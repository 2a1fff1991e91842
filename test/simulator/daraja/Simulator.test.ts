import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { simulatedDaraja } from "../../../src/simulator/daraja/Simulator.ts"
import { openBench } from "../../providers/contract/Fixture.ts"

// The requests of Safaricom's documents, as they stand there but for the account, and the members that its answers have.

const bench = Effect.gen(function* () {
  const { baseUrl } = yield* openBench(simulatedDaraja)
  const basic = Buffer.from("simulated-live:simulated-live-secret").toString("base64")
  const ask = (path: string, headers: Record<string, string>, body?: object) =>
    Effect.promise(async () => {
      const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }
      const answer = await fetch(`${baseUrl}${path}`, { headers: { "content-type": "application/json", ...headers }, ...post })
      const said: Record<string, unknown> = await answer.json()
      return { status: answer.status, said }
    })
  const token = Effect.map(
    ask("/oauth/v1/generate?grant_type=client_credentials", { authorization: `Basic ${basic}` }),
    ({ said }) => String(said["access_token"])
  )
  const call = (path: string, body: object, bearer: string) => ask(path, { authorization: `Bearer ${bearer}` }, body)
  return { ask, basic, call, token }
})

const Timestamp = "20261128142310"
const stamped = {
  BusinessShortCode: "605512",
  Password: Buffer.from(`605512simulated-live-passkey${Timestamp}`).toString("base64"),
  Timestamp
}
const prompt = {
  ...stamped,
  TransactionType: "CustomerPayBillOnline",
  Amount: 1250,
  PartyA: "254711002233",
  PartyB: "605512",
  PhoneNumber: "254711002233",
  CallBackURL: "https://pay.example.ke/c/8f1c",
  AccountReference: "K7Q2M9XZ41AB",
  TransactionDesc: "Invoice 8121"
}
const credential = Buffer.alloc(256, 7).toString("base64")
const payout = {
  OriginatorConversationID: "p_01k9x0q8s2m6f7v3",
  InitiatorName: "simulated-initiator",
  SecurityCredential: credential,
  CommandID: "BusinessPayment",
  Amount: 780,
  PartyA: "3004411",
  PartyB: "254722445566",
  Remarks: "Payout 8123",
  QueueTimeOutURL: "https://pay.example.ke/t/1",
  ResultURL: "https://pay.example.ke/r/1",
  Occassion: "nov"
}
const STK = "/mpesa/stkpush/v1/processrequest"
const B2C = "/mpesa/b2c/v3/paymentrequest"

describe("the simulated Daraja", () => {
  it.live("gives one token at a time: the one before it is a 404 that is no absence", () =>
    Effect.gen(function* () {
      const { ask, basic, call, token } = yield* bench
      const first = yield* token
      expect((yield* call(STK, prompt, first)).status).toBe(200)
      const second = yield* token
      expect(yield* call(STK, prompt, first)).toMatchObject({ status: 404, said: { errorCode: "404.001.03" } })
      expect((yield* call(STK, prompt, second)).status).toBe(200)
      const path = "/oauth/v1/generate"
      expect(yield* ask(path, { authorization: `Basic ${basic}` })).toMatchObject({
        status: 400,
        said: { errorCode: "400.008.02" }
      })
      const wrong = ask(`${path}?grant_type=client_credentials`, { authorization: "Basic x" })
      expect(yield* wrong).toMatchObject({ status: 400, said: { errorCode: "400.008.01" } })
    })
  )

  it.live("answers a prompt and a question about it with the members of the documents", () =>
    Effect.gen(function* () {
      const { call, token } = yield* bench
      const bearer = yield* token
      const { said, status } = yield* call(STK, prompt, bearer)
      expect([status, Object.keys(said).sort()]).toEqual([
        200,
        ["CheckoutRequestID", "CustomerMessage", "MerchantRequestID", "ResponseCode", "ResponseDescription"]
      ])
      expect(said["CheckoutRequestID"]).toMatch(/^ws_CO_\d+254711002233$/)
      const question = { ...stamped, CheckoutRequestID: said["CheckoutRequestID"] }
      const asked = yield* call("/mpesa/stkpushquery/v1/query", question, bearer)
      expect([asked.status, asked.said["errorCode"] ?? asked.said["ResultCode"]]).toSatisfy(
        ([code, word]) => (code === 500 && word === "500.001.1001") || (code === 200 && word === "0")
      )
    })
  )

  it.live.each([
    [{ Amount: 0 }, 400, "400.002.02"],
    [{ Amount: 250_001 }, 400, "400.002.02"],
    [{ Amount: 12.5 }, 400, "400.002.02"],
    [{ PhoneNumber: "0711002233" }, 400, "400.002.02"],
    [{ AccountReference: "K7Q2M9XZ41ABC" }, 400, "400.002.02"],
    [{ TransactionDesc: "" }, 400, "400.002.02"],
    [{ CallBackURL: "https://pay.example.ke/Mpesa/1" }, 400, "400.003.02"],
    [{ Password: "wrong" }, 500, "500.001.1001"]
  ] as const)("refuses a prompt with %j", ([change, status, code]) =>
    Effect.gen(function* () {
      const { call, token } = yield* bench
      expect(yield* call(STK, { ...prompt, ...change }, yield* token)).toMatchObject({ status, said: { errorCode: code } })
    })
  )

  it.live("registers the addresses of a paybill's confirmations once, and none that Safaricom refuses", () =>
    Effect.gen(function* () {
      const { call, token } = yield* bench
      const bearer = yield* token
      const registerurl = (change: object) =>
        call(
          "/mpesa/c2b/v2/registerurl",
          {
            ShortCode: "605512",
            ResponseType: "Completed",
            ConfirmationURL: "https://pay.example.ke/c",
            ValidationURL: "https://pay.example.ke/v",
            ...change
          },
          bearer
        )
      expect(yield* registerurl({ ShortCode: "700700" })).toMatchObject({ status: 400 })
      expect(yield* registerurl({ ConfirmationURL: "https://pay.example.ke/mpesa" })).toMatchObject({ status: 400 })
      expect(yield* registerurl({})).toMatchObject({ status: 200, said: { ResponseCode: "0" } })
      expect(yield* registerurl({})).toMatchObject({ status: 500, said: { errorCode: "500.003.1001" } })
    })
  )

  it.live("takes the identifier of a payout once, and acknowledges it with the members of the documents", () =>
    Effect.gen(function* () {
      const { call, token } = yield* bench
      const bearer = yield* token
      const { said, status } = yield* call(B2C, payout, bearer)
      expect([status, Object.keys(said).sort()]).toEqual([
        200,
        ["ConversationID", "OriginatorConversationID", "ResponseCode", "ResponseDescription"]
      ])
      expect(said["OriginatorConversationID"]).toBe(payout.OriginatorConversationID)
      expect(yield* call(B2C, payout, bearer)).toMatchObject({ status: 500, said: { errorCode: "500.002.1001" } })
    })
  )

  it.live("acknowledges questions by identifiers of their own", () =>
    Effect.gen(function* () {
      const { call, token } = yield* bench
      const bearer = yield* token
      const question = {
        Initiator: "simulated-initiator",
        SecurityCredential: credential,
        CommandID: "TransactionStatusQuery",
        OriginalConversationID: payout.OriginatorConversationID,
        PartyA: "3004411",
        IdentifierType: "4",
        ResultURL: "https://pay.example.ke/r/2",
        QueueTimeOutURL: "https://pay.example.ke/t/2",
        Remarks: "OK",
        Occasion: "OK"
      }
      const { said, status } = yield* call("/mpesa/transactionstatus/v1/query", question, bearer)
      expect([status, said["ResponseCode"]]).toEqual([200, "0"])
      expect(said["OriginatorConversationID"]).not.toBe(payout.OriginatorConversationID)
    })
  )
})
