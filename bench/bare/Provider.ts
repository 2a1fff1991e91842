import { Pool } from "@effect/platform-node/Undici"

/** The provider's two calls, on connections that are kept. */
export const openProvider = (baseUrl: string) => {
  const pool = new Pool(baseUrl, { connections: 64, pipelining: 1 })
  let token: Promise<string> | undefined

  const fetchToken = async (): Promise<string> => {
    const { body } = await pool.request({
      path: "/auth/token",
      method: "GET",
      headers: { clientId: "bench", clientSecret: "bench" }
    })
    return memberOf(await body.json(), "token")
  }

  const post = async (path: string, sent: object): Promise<unknown> => {
    token ??= fetchToken()
    const headers = { "content-type": "application/json", accept: "application/json", authorization: `Bearer ${await token}` }
    const { body, statusCode } = await pool.request({ path, method: "POST", headers, body: JSON.stringify(sent) })
    const answer: unknown = await body.json()
    if (statusCode !== 200) throw new Error(`the provider answered ${statusCode}`)
    return answer
  }

  return {
    quote: async (amount: bigint, currency: string, country: string) => {
      const answer = await post("/payouts/quotation", {
        sourceWallet: currency,
        amount: Number(amount),
        amountType: "SOURCE",
        type: "momo",
        destinationCountry: country,
        destinationCurrency: currency
      })
      return { token: memberOf(answer, "data", "token"), fee: Number(memberOf(answer, "data", "quotation", "totalFees")) }
    },
    send: async (quote: string, reference: string, country: string, msisdn: string): Promise<string> => {
      const recipient = { firstName: "Payment", lastName: "Recipient", country, phoneNumber: `+${msisdn}` }
      const answer = await post("/payouts", { token: quote, transactionRef: reference, ...recipient })
      return memberOf(answer, "data", "transaction", "transactionId")
    }
  }
}

const memberOf = (value: unknown, ...path: ReadonlyArray<string>): string => {
  let at: unknown = value
  for (const name of path) at = typeof at === "object" && at !== null ? Reflect.get(at, name) : undefined
  return String(at)
}
