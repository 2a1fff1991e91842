import { Context, Effect, Exit, Layer, Option, Redacted, Result, Scope } from "effect"
import { HttpServerResponse } from "effect/http"
import { minor } from "../../src/domain/Money.ts"
import { Signed } from "../../src/http/api/SignedRequest.ts"
import { authorizeBody, collectionBody } from "../../src/http/body/CollectionBody.ts"
import { fxExchangeBody } from "../../src/http/handlers/Fx.ts"
import { payoutBody } from "../../src/http/handlers/Payouts.ts"
import { Idempotent } from "../../src/http/idempotency/Idempotent.ts"
import { RateLimitsMemory } from "../../src/persistence/requests/RateLimitsMemory.ts"
import { servicesOn } from "../../src/Services.ts"
import { CodeFlow } from "../../src/services/collections/CodeFlow.ts"
import { CodeRequests } from "../../src/services/collections/CodeRequests.ts"
import { Collections } from "../../src/services/collections/Collections.ts"
import { Exchanges } from "../../src/services/exchanges/Exchanges.ts"
import { Payouts } from "../../src/services/payouts/Payouts.ts"
import { Codes } from "../../src/services/ports/Codes.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import { Policy } from "../../src/services/ports/Policy.ts"
import type { Provider } from "../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { Quotes } from "../../src/services/ports/Quotes.ts"
import { WebhookSender } from "../../src/services/ports/WebhookSender.ts"
import { Reference } from "../../src/services/reference/Reference.ts"
import { makeClawbackSweeps } from "../../src/services/settlement/ClawbackSweeps.ts"
import { OutcomePoller } from "../../src/services/settlement/OutcomePoller.ts"
import { ProviderCallbacks } from "../../src/services/settlement/ProviderCallbacks.ts"
import { Reconciliation } from "../../src/services/settlement/Reconciliation.ts"
import { Review } from "../../src/services/settlement/Review.ts"
import { WebhookDispatcher } from "../../src/services/webhooks/WebhookDispatcher.ts"
import { unhurried } from "../../test/support/PaymentRequests.ts"
import { callerOf, type Wish } from "./Client.ts"
import { registryOf } from "./GatedProviders.ts"
import type { MovementKind } from "./Movement.ts"
import type { Node } from "./Node.ts"
import { oneByOne } from "./OneByOne.ts"
import type { Notes } from "./Seen.ts"
import type { Ready } from "./Testbed.ts"

export type NodeServices = Effect.Success<ReturnType<typeof openServices>>

interface Outside {
  readonly ready: Ready
  readonly providers: ReadonlyArray<Provider>
  readonly post: WebhookSender["Service"]["post"]
  /** The time that a commit takes: no two are of one instant. */
  readonly takesTime: Effect.Effect<void>
  readonly notes: Notes
}

/** The production services of one process, each of whose effects stands between two gates. */
export const openServices = Effect.fnUntraced(function* (node: Node, outside: Outside) {
  const { between } = node
  const { notes, post, providers } = outside
  const foundations = {
    providers: Layer.succeed(ProviderRegistry, registryOf(providers, between, notes)),
    ports: Layer.succeedContext(gatedPorts(node, outside)),
    limits: RateLimitsMemory,
    sender: Layer.succeed(WebhookSender, { post: (delivery) => between("deliver", post(delivery)) })
  }
  // Never closed: what a dead node has begun neither ends nor is waited for.
  const life = yield* Scope.make()
  const context = yield* Layer.buildWithScope(
    Layer.mergeAll(Idempotent.layer, Review.layer, Reconciliation.layer).pipe(
      Layer.provideMerge(servicesOn(foundations)),
      Layer.fresh
    ),
    life
  )
  return {
    idempotent: Context.get(context, Idempotent),
    payouts: Context.get(context, Payouts),
    collections: Context.get(context, Collections),
    codeFlow: Context.get(context, CodeFlow),
    codeRequests: Context.get(context, CodeRequests),
    exchanges: Context.get(context, Exchanges),
    poller: Context.get(context, OutcomePoller),
    ingress: Context.get(context, ProviderCallbacks),
    dispatcher: Context.get(context, WebhookDispatcher),
    review: Context.get(context, Review),
    /** A look through each account that is due for what was taken back of collections. */
    clawbackSweep: yield* Effect.provide(makeClawbackSweeps, context),
    reference: Context.get(context, Reference),
    reconciliation: Context.get(context, Reconciliation)
  }
}, Effect.orDie)

/** A client waits no longer than a request may take; what it does not hear any more is not held against the gateway. */
const FOREVER_MS = 1_000 * 24 * 3_600_000

const gatedPorts = (node: Node, { notes, ready, takesTime }: Outside): Ready => {
  const { between } = node
  const codes = Context.get(ready, Codes)
  const { idempotencyLeaseMs: leaseMs } = Context.get(ready, Policy)
  const ledger = Context.get(ready, FloatLedger)
  const keys = Context.get(ready, Idempotency)
  const quotes = Context.get(ready, Quotes)
  // Where a request asks about another charge, others of its node may wait for the same question, and nobody would let it go on.
  const isOwn = (reference: string) => node.current?.reference === undefined || node.current.reference === reference
  return ready.pipe(
    Context.add(FloatLedger, {
      ...ledger,
      open: (step) => {
        const opened = Effect.tap(ledger.open(step), ({ _tag }) =>
          Effect.sync(() => (_tag === "Opened" ? notes.opened(step.transaction.reference) : undefined))
        )
        return between("open", opened)
      },
      apply: (step) => {
        const written = Effect.tap(Effect.andThen(takesTime, ledger.apply(step)), ({ _tag }) =>
          Effect.sync(() => (_tag === "Applied" ? notes.committed(step.next) : undefined))
        )
        return between("apply", written, isOwn(step.next.reference))
      }
    }),
    Context.add(Codes, {
      ...codes,
      begin: (attempt) => between("begin", codes.begin({ ...attempt, leaseMs })),
      wrong: (attempt) => between("wrong", codes.wrong(attempt)),
      close: (reference, at) => between("close", codes.close(reference, at), false)
    }),
    Context.add(Idempotency, {
      ...keys,
      claim: (asked) =>
        between(
          "claim",
          Effect.tap(keys.claim(asked), (claimed) =>
            Effect.sync(() => {
              const task = node.current
              const taken = Option.getOrUndefined(claimed)
              if (taken?._tag === "Fresh" && task !== undefined) task.reference ??= taken.claim.reference
            })
          )
        ),
      complete: (claim, answer) => between("complete", keys.complete(claim, answer)),
      release: (claim) => between("release", keys.release(claim))
    }),
    Context.add(Quotes, { ...quotes, take: (quote, claim) => between("take", quotes.take(quote, claim)) }),
    // The request's own deadline would let its work go on beside the story; the lease of its key is the ports' own.
    Context.add(Policy, { ...Context.get(ready, Policy), idempotencyLeaseMs: FOREVER_MS }),
    (gated) => oneByOne(gated, node)
  )
}

/** What a tenant asks for; the reference is that of the collection which a code is said for. */
export type Asked = { readonly kind: MovementKind } | { readonly kind: "authorize"; readonly reference: string }

/** A tenant's signed request, from its decoding to its answer's bytes. */
export const request = (
  { codeFlow, collections, exchanges, idempotent, payouts }: NodeServices,
  signed: Pick<Signed["Service"], "body" | "caller" | "rawHeaders">,
  asked: Asked
) => {
  const answers = {
    payout: () =>
      idempotent.once({ endpoint: "POST /v1/payouts", decode: payoutBody, windows: payouts.windows, run: payouts.create }),
    collection: () =>
      idempotent.once({
        endpoint: "POST /v1/collections",
        decode: collectionBody,
        windows: collections.windows,
        run: collections.create
      }),
    exchange: () =>
      idempotent.once({
        endpoint: "POST /v1/fx/exchange",
        decode: fxExchangeBody,
        run: (caller, command, { claim }) => exchanges.create(caller, command, claim)
      }),
    authorize: () => {
      const about = "reference" in asked ? asked.reference : ""
      return idempotent.once({
        endpoint: "POST /v1/collections/{reference}/authorize",
        decode: authorizeBody(about),
        run: (caller, command, { claim }) => codeFlow.authorize(caller, command, claim),
        keyless: (caller, command) => codeFlow.authorize(caller, command, null),
        about,
        successStatus: 200
      })
    }
  }
  return answers[asked.kind]().pipe(
    Effect.provideService(Signed, { ...signed, ...unhurried(signed.caller) }),
    Effect.flatMap((response) => {
      const web = HttpServerResponse.toWeb(response)
      const isReplay = web.headers.has("idempotency-replayed")
      return Effect.map(
        Effect.promise(() => web.text()),
        (body) => ({ status: web.status, body, isReplay })
      )
    })
  )
}

/** The id of a quote; empty where there is none. */
export const quoteFor = ({ exchanges }: NodeServices, asked: Wish): Effect.Effect<string> => {
  const terms = { sourceCurrency: "UGX", destinationCurrency: "KES", fixed: "source", amount: minor(asked.amount) } as const
  return Effect.map(Effect.exit(exchanges.quote(callerOf(asked), terms)), (exit) => (Exit.isSuccess(exit) ? exit.value.id : ""))
}

/** A code that is asked for by hand: its pin_id, or the name of the refusal. */
export const codeFor = ({ codeRequests }: NodeServices, asked: Wish): Effect.Effect<Result.Result<string, string>> => {
  const source = { _tag: "momo", msisdn: Redacted.make(`+${asked.party}`), network: "MTN", country: "UG" } as const
  return Effect.map(Effect.result(codeRequests.send(callerOf(asked), { country: "UG", source })), (result) =>
    Result.isSuccess(result) ? Result.succeed(result.success.pin_id) : Result.fail(result.failure._tag)
  )
}
