// Bodies of requests as a tenant writes them; `ending` decides what the simulated provider makes of them.

type Change = Readonly<Record<string, unknown>>

/** UGX 10,000 to mobile money: the fee is 1,000. */
export const momoPayout = (ending: string, change: Change = {}) => ({
  amount_minor: 10_000,
  currency: "UGX",
  country: "UG",
  method: "momo",
  destination: { type: "momo", msisdn: `25677212${ending}`, network: "MTN", country: "UG" },
  ...change
})

/** UGX 10,000 to a bank account: the fee is 5,400. */
export const bankPayout = (ending: string, change: Change = {}) => ({
  ...momoPayout(ending),
  method: "bank",
  destination: { type: "bank", country: "UG", bank_code: "01", account_number: `90300012${ending}`, account_name: "Jane Doe" },
  ...change
})

/** UGX 10,000 to a provider wallet: the fee is 500. */
export const walletPayout = (ending: string, change: Change = {}) => ({
  ...momoPayout(ending),
  method: "wallet",
  destination: { type: "wallet", country: "UG", tag: `jane${ending}` },
  ...change
})

/** UGX 20,000 from mobile money: the fee is 300. */
export const momoCharge = (ending: string, change: Change = {}) => ({
  amount_minor: 20_000,
  currency: "UGX",
  country: "UG",
  method: "momo",
  source: { type: "momo", msisdn: `25677334${ending}`, network: "MTN" },
  ...change
})
