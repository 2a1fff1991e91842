import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { transactionView } from "../../domain/View.ts"
import { Collections } from "../../services/Collections.ts"
import { Records } from "../../services/Records.ts"
import { answered } from "../Answer.ts"
import { Api } from "../Api.ts"
import { collectionBody } from "../CollectionBody.ts"
import { Idempotent } from "../Idempotent.ts"
import { Signed } from "../SignedRequest.ts"

export const CollectionsHandlers = HttpApiBuilder.group(
  Api,
  "collections",
  Effect.fnUntraced(function* (handlers) {
    const collections = yield* Collections
    const records = yield* Records
    const idempotent = yield* Idempotent
    return handlers
      .handleRaw("create", () =>
        idempotent.once({ endpoint: "POST /v1/collections", decode: collectionBody, run: collections.create })
      )
      .handleRaw("find", ({ params }) =>
        Effect.flatMap(Signed, ({ caller }) => records.transaction(caller, params.reference, "collection")).pipe(
          Effect.map(transactionView),
          answered(200)
        )
      )
  })
)
