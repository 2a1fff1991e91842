import { HttpApi, OpenApi } from "effect/http-api"
import { BalancesApi, FloatApi } from "./Balances.ts"
import { BeneficiariesApi } from "./Beneficiaries.ts"
import { CallbacksApi } from "./Callbacks.ts"
import { CollectionsApi, RefundsApi } from "./Collections.ts"
import { errorEnvelopeSchemas } from "./Errors.ts"
import { Event } from "./Events.ts"
import { FxApi } from "./Fx.ts"
import { PayoutsApi } from "./Payouts.ts"
import { CapabilitiesApi, ReferenceApi } from "./Reference.ts"
import { DescriptionApi, DocsAssetsApi, HealthApi, ManualApi } from "./System.ts"
import { TransactionsApi } from "./Transactions.ts"
import { WebhooksApi } from "./Webhooks.ts"

/** The introduction of the API reference, in Markdown: the rules that all requests and responses share. */
const introduction = `Collect money from payers, pay it out of your float, exchange it, and hear of every outcome by signed webhooks.

New here? [Start](/docs/integrating/start) takes you from a key to the first payout.
More to read: [signing](/docs/integrating/signing), [errors](/docs/integrating/errors),
[retries](/docs/integrating/idempotency-and-retries), [webhooks](/docs/integrating/webhooks), [testing](/docs/integrating/testing),
[money](/docs/integrating/money), [going live](/docs/integrating/going-live), [versions](/docs/integrating/versions), and
[the contract](/docs/contract), rule by rule. For tools: [openapi.json](/openapi.json).

# Authentication

Every request below \`/v1\`, and \`/health/detail\`, is signed. Your key has four parts: an \`app_id\`, a \`key_id\`, an \`api_key\` and a
\`signing_secret\`, which is never sent. The key decides whether a request is in live or in test mode.

| Header | Value |
| --- | --- |
| \`X-Gateway-Key\` | \`<app_id>.<key_id>.<api_key>\` |
| \`X-Gateway-Timestamp\` | Unix time in seconds; at most 120 s old and 30 s ahead |
| \`X-Gateway-Nonce\` | 16 to 64 characters of \`A-Z a-z 0-9 _ -\`, new for every request |
| \`X-Gateway-Signature\` | \`v1=\` and the lower-case hex HMAC-SHA256 |

The HMAC's key is the \`signing_secret\`. What is signed is ten fields with a newline between them and none at the end: \`v1\`, the
\`app_id\`, the \`key_id\`, the host (lower case, with its port if the request names one), the method, the path, the canonical query (empty
for none), the timestamp, the nonce, and the lower-case hex SHA-256 of the body.

The example of every operation here is a shell script that does this: copy it, set \`APP_ID\`, \`KEY_ID\`, \`API_KEY\` and
\`SIGNING_SECRET\`, and run it. Beside it is the same in Python, PHP, TypeScript, Go and Java, with the signing file of the language, and with the TypeScript
client. Test vectors: [signing](/docs/integrating/signing). Whatever is wrong with a
signature, the answer is the same 401.

# Requests and answers

Amounts are whole numbers of the currency's smallest unit, in fields that end in \`_minor\`. UGX, RWF, XAF and XOF have no decimals; all
others have two. Every answer is one envelope: \`code\`, \`message\`, and \`data\` or \`error\`. Members of a request that have no name here are
ignored, and listed in the header \`X-Gateway-Ignored\`. Answers may get new members: ignore what you do not know. Every answer has an
\`X-Request-Id\`; your own, of at most 128 characters, is echoed.

# Errors

Branch on \`error.code\`, and on which one of three is true, never on a message:

- \`terminal\`: a definite refusal of this request. Of a repeat it says nothing about an earlier request with the same key, unless it
  names a \`reference\` or has the header \`Idempotency-Replayed\`: see [errors](/docs/integrating/errors).
- \`retriable\`: nothing moved because of this request. Send the same request with the same \`Idempotency-Key\` again, later.
- \`ambiguous\`: the outcome is not known. Reverse nothing; poll until it is.

Requests that move money need an \`Idempotency-Key\`. The same key with the same request gets the first answer again, with
\`Idempotency-Replayed: true\`, and moves nothing twice. What each code means: [errors](/docs/integrating/errors).`

const about = {
  info: {
    title: "Payment gateway",
    version: "1.0.0",
    description: introduction,
    contact: { name: "The operator of this gateway" },
    license: { name: "Proprietary", identifier: "LicenseRef-Proprietary" }
  },
  servers: [{ url: "/" }]
}

/** The gateway's HTTP API, in the order in which it is described. */
export class Api extends HttpApi.make("gateway")
  .add(
    CollectionsApi,
    PayoutsApi,
    TransactionsApi,
    FxApi,
    FloatApi,
    BalancesApi,
    CapabilitiesApi,
    ReferenceApi,
    BeneficiariesApi,
    WebhooksApi,
    RefundsApi,
    HealthApi,
    DescriptionApi,
    CallbacksApi,
    DocsAssetsApi,
    ManualApi
  )
  // Schemas that no endpoint names: the envelope encodes errors, the domain encodes events.
  .annotate(OpenApi.Override, about)
  .annotate(HttpApi.AdditionalSchemas, [...errorEnvelopeSchemas, Event]) {}
