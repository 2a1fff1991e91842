import type { Stage } from "../chaos/Stage.ts"

// What is asked for; the last four digits decide what the simulated provider makes of it.

/** UGX to mobile money; the fee is 1,000. */
export const payoutOf = (ending: string, amount = 1_000) => ({
  amount_minor: amount,
  currency: "UGX",
  country: "UG",
  method: "momo",
  destination: { type: "momo", msisdn: `25677212${ending}`, network: "MTN", country: "UG" }
})

/** UGX to a bank account; the fee is 5,400. */
export const bankPayoutOf = (ending: string, amount: number) => ({
  ...payoutOf(ending, amount),
  method: "bank",
  destination: { type: "bank", country: "UG", bank_code: "01", account_number: `90300012${ending}`, account_name: "Jane Doe" }
})

/** UGX 20,000 from mobile money; the fee is 300. */
export const chargeOf = (ending: string) => ({
  amount_minor: 20_000,
  currency: "UGX",
  country: "UG",
  method: "momo",
  source: { type: "momo", msisdn: `25677334${ending}`, network: "MTN" }
})

/** A payout that somebody else makes with the account at the simulated provider. */
export const madeElsewhere = async ({ variables }: Stage, transactionRef: string): Promise<void> => {
  const base = variables["EVERSEND_BASE_URL"] ?? ""
  const account = {
    clientId: variables["EVERSEND_LIVE_CLIENT_ID"] ?? "",
    clientSecret: variables["EVERSEND_LIVE_CLIENT_SECRET"] ?? ""
  }
  const login: { readonly token: string } = JSON.parse(await (await fetch(`${base}/auth/token`, { headers: account })).text())
  const post = async (path: string, body: object) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${login.token}` }
    const answer = await fetch(`${base}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`the simulator refused ${path}: ${answer.status}`)
    return answer.text()
  }
  const money = { sourceWallet: "UGX", amount: 20_000, type: "momo", destinationCountry: "UG", destinationCurrency: "UGX" }
  const quoted: { readonly data: { readonly token: string } } = JSON.parse(
    await post("/payouts/quotation", { ...money, amountType: "SOURCE" })
  )
  const person = { firstName: "Jane", lastName: "Doe", country: "UG", phoneNumber: "+256700001234" }
  await post("/payouts", { ...person, token: quoted.data.token, transactionRef })
}
