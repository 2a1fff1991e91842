/**
 * Every name under which a value may leave the process in a span or a log line, and what it holds. What is not listed does not
 * leave: no header, no query, no address of a caller, no person's number.
 */
const attributes = {
  app_id: "the tenant",
  mode: "live or test",
  key_id: "the public half of an API key's name",
  request_id: "one HTTP request",
  reference: "a transaction",
  provider: "a provider's name",
  provider_reference: "the provider's own name of a transaction",
  product: "which of a provider's products",
  country: "a country code",
  operation: "what a provider was asked to do",
  outcome: "what was done to a partition",
  note: "why something did not go, in the connection's or the program's words",
  reason: "what was wrong with a signature: a tag, never what was sent",
  header: "the name of one of the five headers that sign a request, never its value",
  clock_skew_seconds: "how far the clock of a request's sender is ahead of ours",
  fact: "the tag of a fact",
  actor: "who brought it",
  status: "an HTTP status",
  transaction_status: "a transaction's status",
  verdict: "what follows from a delivery's attempt",
  moved: "whether money moved",
  drift_minor: "what a provider took beyond the held fee",
  currency: "a currency code",
  step: "which step of data retention",
  partition: "tables' partitions",
  worker: "which of the workers",
  alarm: "what an adapter finds wrong at its provider, without a person's number",
  found: "in which list a record was",
  database_role: "the database role that a gateway logs in as",
  count: "how many requests a line stands for",
  duration_ms: "how long it took",
  skew_ms: "how far the clock of this machine is ahead of the database's",
  code: "an error's wire code",
  duplicate: "whether a callback came before",
  callback_id: "a stored callback",
  delivery_id: "a webhook delivery",
  event_id: "a webhook event",
  event_type: "its kind",
  command: "an operator's command",
  audit_head: "the newest row of the audit log: its number and its hash",
  host: "a listener's own address",
  port: "a listener's own port",
  method: "an HTTP method",
  route: "the route's template",
  "gateway.request_id": "one HTTP request",
  "gateway.reference": "a transaction",
  "gateway.app_id": "the tenant",
  "gateway.kind": "payout, collection or exchange",
  "gateway.mode": "live or test",
  "gateway.provider": "a provider's name",
  "gateway.corridor": "country, currency, direction and method",
  "gateway.outcome": "what a call to a provider meant: the tag of a fact",
  "gateway.error_class": "terminal, retriable or ambiguous",
  "gateway.error_code": "an error's wire code",
  "gateway.batch_size": "how many steps one statement holds",
  "gateway.fact": "the tag of a fact",
  "gateway.actor": "who brought it",
  "error.type": "why something failed: a wire code, an HTTP status, a code of PostgreSQL's, or the type of what was thrown",
  "http.request.method": "",
  "http.route": "the route's template",
  "http.response.status_code": "",
  "server.address": "a host that is called, or under which we were called",
  "server.port": "",
  "url.scheme": "http or https",
  "url.path": "of a request; an identifier stays, and everything else that a caller wrote into it is removed",
  "url.full": "of a call, without user, query and number; of a tenant's endpoint without its path",
  "db.system.name": "",
  "db.namespace": "the database's name",
  "db.response.status_code": "PostgreSQL's code of an error",
  "db.operation.name": "SELECT and the like",
  "db.query.summary": "what a statement does, and to which table",
  "db.query.text": "a statement with the places of its parameters, never their values",
  "exception.type": "",
  "exception.message": "with the request's path replaced by its route",
  "exception.stacktrace": "with the request's path replaced by its route",
  "effect.fiber.interrupted": ""
} as const satisfies Readonly<Record<string, string>>

export type AttributeName = keyof typeof attributes

/** Names checked by the compiler, for `Effect.annotateLogs` and `Effect.annotateSpans`. */
export const annotations = (values: { readonly [Name in AttributeName]?: string | number | boolean }) => values

/** A name without a room of its own leaves in a span as the gateway's. */
export const isListedInSpans = (name: string): boolean =>
  isListed(name) || (name.startsWith("gateway.") && isListed(name.slice("gateway.".length)))

export const isListed = (name: string): name is AttributeName => Object.hasOwn(attributes, name)
