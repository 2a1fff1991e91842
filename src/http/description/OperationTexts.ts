/** What the API description says of an operation in words. */
export interface OperationText {
  readonly summary: string
  readonly description: string
}

const POLL = "The gateway answers from its own records; no provider is asked."
const NEXT_PAGE = "Follow `next_cursor` until it is null."
const GRANT = (capability: string) => `Needs the capability \`${capability}\`.`
const NO_GRANT = "Needs no capability."

/** Every operation by its method and route template. */
export const operationTexts: Readonly<Record<string, OperationText>> = {
  "POST /v1/collections": {
    summary: "Create a collection",
    description: `Charges a payer. The first answer is normally \`pending\`; the outcome comes by webhook or by polling. With \`requires_action\` the payer has to do something first: see \`next_action\`. A charge of a number that was charged in the last 15 minutes is refused with \`duplicate_charge_in_flight\`. ${GRANT("collections")}`
  },
  "POST /v1/collections/{reference}/authorize": {
    summary: "Authorize a collection",
    description:
      "Checks the code that the payer typed, and places the charge. A wrong code leaves the collection as it is: ask again. Amount, currency and country are those of the collection."
  },
  "POST /v1/collections/otp": {
    summary: "Send a one-time code",
    description: `Texts the payer a code, which you then send with a collection as \`otp\`. At most 3 in 10 minutes for one number. ${GRANT("collections")}`
  },
  "GET /v1/collections/{reference}": { summary: "Get a collection", description: `Reads one collection. ${POLL}` },
  "POST /v1/payouts": {
    summary: "Create a payout",
    description: `Sends money out of your float. The provider is asked for its fee first, and amount and fee are reserved together. The first answer is normally \`pending\`; the outcome comes by webhook or by polling. A refusal with 422 has sent nothing. ${GRANT("payouts")}`
  },
  "POST /v1/payouts/quote": {
    summary: "Quote a payout",
    description: `Says what a payout would cost. It is free, and moves and reserves nothing; it answers also where your float is too small or the amount is below the minimum. ${GRANT("payouts")}`
  },
  "GET /v1/payouts/{reference}": { summary: "Get a payout", description: `Reads one payout. ${POLL}` },
  "GET /v1/transactions": {
    summary: "List transactions",
    description: `Your collections and payouts of the key's mode, the newest first. ${NEXT_PAGE} A page may hold fewer items than \`limit\`, or none, and still have a \`next_cursor\`. Walking skips and repeats none while new ones arrive. A filter or value that the list does not know is \`validation_failed\`.`
  },
  "GET /v1/transactions/{id}": {
    summary: "Get a transaction",
    description: `Reads a collection or a payout without knowing which. ${POLL} \`view=raw\` is for admin keys only: a tenant's key gets \`capability_not_allowed\`.`
  },
  "POST /v1/refunds": {
    summary: "Refund a collection (not offered)",
    description: "Always answers 501 `provider_capability_unsupported`, once the body is right. Nothing moves."
  },
  "GET /v1/float": {
    summary: "Get your float",
    description: `Your own money, one position a currency. It is a report and reserves nothing: a payout checks for itself. ${NO_GRANT}`
  },
  "GET /v1/balances": {
    summary: "Get the providers' balances",
    description: `The wallets at the providers, which all tenants share; they are not your float. The provider is asked. ${GRANT("balances")}`
  },
  "GET /v1/reference/banks/{country}": {
    summary: "List banks",
    description: `The banks of a country that can be paid, asked of the provider, without inactive ones. ${GRANT("reference_data")}`
  },
  "GET /v1/reference/banks/{country}/{bank_code}/branches": {
    summary: "List a bank's branches",
    description: `The branches of a bank, as the provider listed them at most a day ago. Ask where the corridor says \`requires_branch\`, and let a person choose: no branch is ever chosen for you. ${GRANT("reference_data")}`
  },
  "POST /v1/reference/resolve-bank-account": {
    summary: "Resolve a bank account",
    description: `Finds the holder of a bank account, for you to confirm: a payout looks the name up again. At most 30 a minute for a key. ${GRANT("bank_resolution")}`
  },
  "GET /v1/reference/corridors": {
    summary: "List corridors",
    description: `Which country, currency, direction and method go together, with limits and requirements; also those that are not active. ${NO_GRANT}`
  },
  "GET /v1/reference/countries": {
    summary: "List countries",
    description: `Where the provider delivers payouts; it says nothing about collections. The provider is asked. ${GRANT("reference_data")}`
  },
  "GET /v1/capabilities": {
    summary: "List your capabilities",
    description: `What you may do and the provider offers, and why the rest is not supported. ${NO_GRANT}`
  },
  "GET /v1/beneficiaries": {
    summary: "List beneficiaries",
    description: `The recipients that your payouts saved, masked, the newest first. ${NEXT_PAGE}`
  },
  "GET /v1/beneficiaries/{id}": { summary: "Get a beneficiary", description: "Reads one saved recipient, masked." },
  "DELETE /v1/beneficiaries": {
    summary: "Purge beneficiaries",
    description: "Removes every saved recipient of yours, in both modes. It cannot be undone."
  },
  "POST /v1/fx/quote": {
    summary: "Quote an exchange",
    description: `Says what an exchange between two of your currencies would bring. It is free and moves nothing. ${GRANT("fx")}`
  },
  "POST /v1/fx/exchange": {
    summary: "Create an exchange",
    description: `Exchanges by a quote, which is good for one exchange until it expires. What is booked is what the exchange brought. ${GRANT("fx")}`
  },
  "GET /v1/fx/exchanges/{reference}": { summary: "Get an exchange", description: `Reads one exchange. ${POLL}` },
  "GET /v1/webhooks/endpoint": {
    summary: "Get your webhook endpoint",
    description: "Where your events of the key's mode go. There is one endpoint a mode."
  },
  "PUT /v1/webhooks/endpoint": {
    summary: "Set your webhook endpoint",
    description:
      "Replaces the whole endpoint; what you leave out gets its default. The response that creates it holds the secret, and no later one does."
  },
  "DELETE /v1/webhooks/endpoint": {
    summary: "Remove your webhook endpoint",
    description: "Stops the deliveries. Events are kept for 30 days and can be recovered."
  },
  "POST /v1/webhooks/endpoint/rotate-secret": {
    summary: "Rotate the webhook secret",
    description: "Makes a new signing secret. For 24 hours the old one signs as well, so that you can change over."
  },
  "POST /v1/webhooks/endpoint/test": {
    summary: "Send a test event",
    description: "Sends a `webhook.test` event to your endpoint, whatever it subscribes to."
  },
  "GET /v1/webhooks/deliveries": {
    summary: "List deliveries",
    description: `What was sent to your endpoint, with its last attempts, the newest first. ${NEXT_PAGE}`
  },
  "POST /v1/webhooks/deliveries/{id}/redeliver": {
    summary: "Redeliver an event",
    description: "Sends one event again: the same bytes under the same id."
  },
  "POST /v1/webhooks/recover": {
    summary: "Recover events",
    description:
      "Sends every event since a moment again, for example after an outage of yours. An event whose delivery is due already is skipped. One recovery of yours works at a time, and it stops while 10,000 deliveries are due: where the answer has `resume_since`, call again from there once they were delivered."
  },
  "GET /health": { summary: "Check that the gateway answers", description: "Needs no signature." },
  "GET /health/detail": {
    summary: "Get release and providers",
    description: `The gateway's release, and the providers at which it has an account. ${NO_GRANT}`
  },
  "GET /openapi.json": {
    summary: "Get this description",
    description: "The API in OpenAPI 3.1, for tools and generators. Needs no signature."
  },
  "GET /docs": { summary: "Get this description as a page", description: "The API for people. Needs no signature." },
  "POST /webhooks/{provider}/{route_key}": {
    summary: "Take a provider's callback",
    description: "For providers; tenants never call it. It is answered as soon as it is stored."
  },
  "PUT /webhooks/{provider}/{route_key}": {
    summary: "Take a provider's callback (PUT)",
    description: "For a provider that calls back by PUT; tenants never call it. It is answered as soon as it is stored."
  }
}

/** What each group of operations is about, in the order in which they are shown. */
export const groupTexts = {
  collections: { title: "Collections", description: "Money in: charge a payer by mobile money, bank or card." },
  payouts: { title: "Payouts", description: "Money out of your float: to a mobile-money number, a bank account or a wallet." },
  transactions: { title: "Transactions", description: "Collections and payouts together: find one, or list them." },
  fx: { title: "Exchanges", description: "Exchange float of one currency into another." },
  float: { title: "Float", description: "Your own money at the gateway." },
  balances: { title: "Provider balances", description: "The wallets at the providers, which all tenants share." },
  capabilities: { title: "Capabilities", description: "What you may do." },
  reference: { title: "Reference data", description: "Corridors, countries, banks and bank accounts." },
  beneficiaries: { title: "Beneficiaries", description: "Recipients that your payouts saved." },
  webhooks: { title: "Webhook endpoint", description: "Where your events go, and what became of them." },
  events: { title: "Events", description: "What the gateway sends to your endpoint, signed as Standard Webhooks 1.0." },
  refunds: { title: "Refunds", description: "Not offered by any provider yet." },
  health: { title: "Health", description: "Whether the gateway answers, and what it is." },
  description: { title: "This description", description: "This description." },
  callbacks: { title: "Provider callbacks", description: "Where providers report to the gateway. Tenants never call these." }
} as const
