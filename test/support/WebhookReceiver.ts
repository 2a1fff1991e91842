import { randomBytes } from "node:crypto"
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import { Effect, Layer, Redacted, type Scope } from "effect"
import { AppId, type Reference, referenceFrom } from "../../src/domain/Ids.ts"
import { DEFAULT_ENDPOINT } from "../../src/domain/WebhookEndpoint.ts"
import type { Policy } from "../../src/services/ports/Policy.ts"
import type { DueDelivery } from "../../src/services/ports/WebhookOutbox.ts"
import { endpointConnection } from "../../src/services/webhooks/EndpointConnection.ts"
import { WebhookDispatcher } from "../../src/services/webhooks/WebhookDispatcher.ts"
import { fakePolicy } from "../fakes/FakePolicy.ts"
import { fakeWebhookOutbox, type SettledAttempt } from "../fakes/FakeWebhooks.ts"

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A tenant's receiver on loopback, for as long as the scope lives. */
export const receiver = (
  answer: (response: ServerResponse, received: Received) => void
): Effect.Effect<{ readonly url: string; readonly received: Array<Received> }, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const received: Array<Received> = []
      const server = createServer(async (request, response) => {
        let body = ""
        for await (const chunk of request.setEncoding("utf8")) body += chunk
        const one = { path: request.url ?? "", headers: request.headers, body }
        received.push(one)
        answer(response, one)
      })
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
      const address = server.address()
      return { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/hook`, received, server }
    }),
    ({ server }) =>
      Effect.promise(
        () =>
          new Promise<void>((closed) => {
            server.close(() => closed())
            server.closeAllConnections()
          })
      )
  )

/** Random, and without so many digits in a row that they are masked as a number where a call is kept. */
export const newReference = (): Reference => {
  const reference = referenceFrom(randomBytes(26))
  return /\d{7}/.test(reference) ? newReference() : reference
}
export const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`

export const delivery = (
  url: string,
  secret: string,
  given: Partial<DueDelivery> & { readonly previousSecret?: string } = {}
): DueDelivery => {
  const { previousSecret, ...override } = given
  return {
    id: newReference(),
    endpoint: {
      appId: AppId.make("acme"),
      mode: "test",
      name: DEFAULT_ENDPOINT,
      url,
      secret: Redacted.make(secret),
      ...(previousSecret === undefined ? {} : { previousSecret: Redacted.make(previousSecret) })
    },
    eventId: newReference(),
    eventType: "payout.successful",
    body: '{"amount_minor":9007199254740991,"metadata":{"name":"Zoë"}}',
    attempts: 0,
    createdAt: 0,
    ...override
  }
}

/** One round over `due`; answers what was settled. */
export const dispatched = (
  due: ReadonlyArray<DueDelivery>,
  given: Partial<Policy["Service"]> = {},
  nameServers: ReadonlyArray<string> = []
): Effect.Effect<ReadonlyArray<SettledAttempt>> => {
  const settled: Array<SettledAttempt> = []
  const layer = WebhookDispatcher.layer.pipe(
    Layer.provide(endpointConnection(undefined, nameServers)),
    Layer.provide(fakeWebhookOutbox(due, settled)),
    Layer.provide(fakePolicy({ webhookScheduleMs: [0, 5_000], ...given }))
  )
  return Effect.gen(function* () {
    yield* (yield* WebhookDispatcher).round
    return settled
  }).pipe(Effect.provide(layer))
}
