import { Context, type Effect } from "effect"

/** One attempt, ready to be sent: exactly these headers and these bytes, and nothing of ours beside them. */
export interface SignedDelivery {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface EndpointResponse {
  /** Null when there was no answer. */
  readonly status: number | null
  /** For the tenant: the first bytes of the answer, or a sentence of ours. */
  readonly excerpt: string
  readonly retryAfter: string | null
  /** For our log only: why there was no answer, in the words of the network. Null when there was one. */
  readonly problem: string | null
}

/** Sends webhooks to addresses that tenants chose. They are not trusted: private addresses are refused (SSRF), and answers are cut. */
export class WebhookSender extends Context.Service<
  WebhookSender,
  {
    /**
     * Posts once, to a public address only, following no redirect and within a fixed time. Never fails: what went wrong is
     * in the answer. Twice sends twice.
     */
    readonly post: (delivery: SignedDelivery) => Effect.Effect<EndpointResponse>
  }
>()("gateway/services/ports/WebhookSender") {}
