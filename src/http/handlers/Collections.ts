import { Effect, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { transactionView } from "../../domain/View.ts"
import { CodeFlow } from "../../services/collections/CodeFlow.ts"
import { CodeRequests } from "../../services/collections/CodeRequests.ts"
import { Collections } from "../../services/collections/Collections.ts"
import { Records } from "../../services/Records.ts"
import { Api } from "../Api.ts"
import { authorizeBody, codeBody, deprecating } from "../AuthorizeBody.ts"
import { checkMode, readTree } from "../Body.ts"
import { collectionBody } from "../CollectionBody.ts"
import { Idempotent } from "../Idempotent.ts"
import { respond, withIgnoredHeader } from "../Response.ts"
import { Signed } from "../SignedRequest.ts"

export const CollectionsHandlers = HttpApiBuilder.group(
  Api,
  "collections",
  Effect.fnUntraced(function* (handlers) {
    const collections = yield* Collections
    const codeFlow = yield* CodeFlow
    const codeRequests = yield* CodeRequests
    const records = yield* Records
    const idempotent = yield* Idempotent
    return handlers
      .handleRaw("create", () =>
        idempotent.once({ endpoint: "POST /v1/collections", decode: collectionBody, run: collections.create })
      )
      .handleRaw("authorize", ({ params: { reference } }) =>
        idempotent
          .once({
            endpoint: "POST /v1/collections/{reference}/authorize",
            decode: authorizeBody(reference),
            run: codeFlow.authorize,
            keyless: (caller, command) => codeFlow.authorize(caller, command, null),
            about: reference,
            successStatus: 200
          })
          .pipe(deprecating)
      )
      .handleRaw("sendCode", () =>
        Effect.flatMap(Signed, ({ body, caller }) => {
          const asked = readTree(body).pipe(
            Result.flatMap((tree) => checkMode(tree, caller.mode)),
            Result.flatMap(codeBody)
          )
          const ignored = Result.isSuccess(asked) ? asked.success.ignored : []
          return Effect.fromResult(asked).pipe(
            Effect.flatMap(({ command }) => codeRequests.send(caller, command)),
            respond(201),
            Effect.map(withIgnoredHeader(ignored))
          )
        })
      )
      .handleRaw("find", ({ params }) =>
        Effect.flatMap(Signed, ({ caller }) => records.transaction(caller, params.reference, "collection")).pipe(
          Effect.map(transactionView),
          respond(200)
        )
      )
  })
)
