import { Context, type Effect } from "effect"

/** One attempt, ready to send: exactly these headers and bytes, without any header of ours. */
export interface SignedDelivery {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface EndpointResponse {
  /** Null when there was no response. */
  readonly status: number | null
  /** For the tenant: the first bytes of the response, or our explanation. */
  readonly excerpt: string
  readonly retryAfter: string | null
  /** For our log only: the network error; null when there was a response. */
  readonly problem: string | null
}

/** Sends webhooks to tenants' URLs, which are not trusted: no private addresses (SSRF), and responses are truncated. */
export class WebhookSender extends Context.Service<
  WebhookSender,
  {
    /**
     * Posts once, to a public address only, without following redirects and with a fixed time limit. Never fails: an error is
     * reported in the result. A second call sends a second time.
     */
    readonly post: (delivery: SignedDelivery) => Effect.Effect<EndpointResponse>
  }
>()("gateway/services/ports/WebhookSender") {}
