import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { ProviderTimeout } from "../../../src/domain/errors/Ambiguous.ts"
import { Unauthorized } from "../../../src/domain/errors/Retriable.ts"
import { TenantFrozen } from "../../../src/domain/errors/Terminal.ts"
import { type EdgeClient, onEdge } from "../../support/EdgeClient.ts"
import { payout } from "../../support/SampleTransactions.ts"

const { reference } = payout()
const body = JSON.stringify({
  amount_minor: 1000,
  currency: "UGX",
  country: "UG",
  method: "momo",
  destination: { type: "momo", msisdn: "256772123456", network: "MTN", country: "UG" },
  metadata: { order: '"reference":"00000000000000000000000009"' }
})
const pay = ({ signed }: EdgeClient, key: string) => signed("POST", "/v1/payouts", [["Idempotency-Key", key]], body)
/** What the lines of the requests say of their transaction, and of the provider that called. */
const lines = ({ behind }: EdgeClient) =>
  behind.logs
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line))
    .filter(({ message }) => message === "request")
    .map(({ annotations }) => [annotations.status, annotations.reference, annotations.provider])

describe("a request's line in the log", () => {
  it(
    "names the transaction that it made, and the one that it reads; one that a tenant wrote into its metadata is none",
    onEdge(
      async (client) => {
        const made = JSON.parse((await pay(client, "one")).text).data.reference
        await client.signed("GET", `/v1/payouts/${reference}`)
        await client.signed("GET", "/v1/payouts/nothing")
        await client.signed("GET", "/v1/transactions")
        expect(lines(client)).toEqual([
          [201, made, undefined],
          [200, reference, undefined],
          [404, undefined, undefined],
          [200, undefined, undefined]
        ])
      },
      { prints: true }
    )
  )

  it(
    "names the transaction of an error that has one, and none where none was made",
    onEdge(
      async (client) => {
        await pay(client, "silent")
        await pay(client, "poor")
        expect(lines(client)).toEqual([
          [503, reference, undefined],
          [403, undefined, undefined]
        ])
      },
      {
        prints: true,
        createPayout: (() => {
          let calls = 0
          return () => Effect.fail(calls++ === 0 ? new ProviderTimeout({ reference }) : new TenantFrozen({}))
        })()
      }
    )
  )

  it(
    "names the provider whose callback it was, also where it is refused, and nothing that a stranger calls a provider",
    onEdge(
      async (client) => {
        for (const path of ["/webhooks/eversend/secret-1", "/webhooks/eversend/guessed", "/webhooks/nobody/secret-1"])
          await client.ask("POST", path, [["Host", "api.gateway.example"]], "{}")
        expect(lines(client)).toEqual([
          [401, undefined, "eversend"],
          [404, undefined, undefined],
          [404, undefined, undefined]
        ])
      },
      { prints: true, receive: () => Effect.fail(new Unauthorized()) }
    )
  )
})
