import { Effect, Result } from "effect"
import { ProviderCapabilityUnsupported } from "../../domain/errors/Terminal.ts"
import { transactionView } from "../../domain/View.ts"
import { CodeFlow } from "../../services/collections/CodeFlow.ts"
import { CodeRequests } from "../../services/collections/CodeRequests.ts"
import { Collections } from "../../services/collections/Collections.ts"
import { Records } from "../../services/Records.ts"
import { RefundBody } from "../api/Collections.ts"
import { withCaller } from "../api/SignedRequest.ts"
import { type Body, type BodyError, makeDecoder } from "../body/Body.ts"
import { authorizeBody, codeBody, collectionBody, withDeprecationHeader } from "../body/CollectionBody.ts"
import { withSignedBody } from "../body/SignedBody.ts"
import { handlersOf } from "../edge/Endpoints.ts"
import { respond } from "../edge/Response.ts"
import { Idempotent } from "../idempotency/Idempotent.ts"
import type { JsonTree } from "../json/StrictJson.ts"

/** The collection endpoints. The payer's code goes to `CodeFlow`. */
export const collectionsHandlers = Effect.gen(function* () {
  const collections = yield* Collections
  const codeFlow = yield* CodeFlow
  const codeRequests = yield* CodeRequests
  const records = yield* Records
  const idempotent = yield* Idempotent
  return handlersOf("collections", {
    create: () =>
      idempotent.once({
        endpoint: "POST /v1/collections",
        decode: collectionBody,
        windows: collections.windows,
        run: collections.create
      }),
    authorize: ({ params: { reference } }) =>
      idempotent
        .once({
          endpoint: "POST /v1/collections/{reference}/authorize",
          decode: authorizeBody(reference),
          run: (caller, command, { claim }) => codeFlow.authorize(caller, command, claim),
          keyless: (caller, command) => codeFlow.authorize(caller, command, null),
          about: reference,
          successStatus: 200
        })
        .pipe(withDeprecationHeader),
    sendCode: () => withSignedBody(codeBody, codeRequests.send, 201),
    find: ({ params }) =>
      withCaller((caller) => records.shown(caller, params.reference, "collection")).pipe(
        Effect.map(transactionView),
        respond(200)
      )
  })
})

/** Refuses every refund. No adapter is called, no transaction is loaded and no float moves (contract COL-15). */
export const refundsHandlers = handlersOf("refunds", {
  create: () => withSignedBody(refundBody, () => Effect.fail(unsupported))
})

const unsupported = new ProviderCapabilityUnsupported({
  capability: "refunds",
  reason: "refund_orchestration_not_implemented"
})

const decode = makeDecoder(RefundBody)

/** The body of `POST /v1/refunds`; nothing in it is used. */
export const refundBody = (body: JsonTree): Result.Result<Body<null>, BodyError> =>
  Result.map(decode(body), ({ ignored }) => ({ command: null, fingerprint: null, ignored }))
