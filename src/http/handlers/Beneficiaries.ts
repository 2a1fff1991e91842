import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { type Beneficiary, beneficiaryView } from "../../domain/Beneficiary.ts"
import { BeneficiaryBook } from "../../services/BeneficiaryBook.ts"
import { Api } from "../api/Api.ts"
import { cursorOf, DEFAULT_PAGE, positionOf } from "../api/Page.ts"
import { withCaller } from "../api/SignedRequest.ts"
import { singleValue } from "../edge/RequestHeaders.ts"
import { respond } from "../edge/Response.ts"

/** Saved recipients, masked. */
export const BeneficiariesHandlers = HttpApiBuilder.group(
  Api,
  "beneficiaries",
  Effect.fnUntraced(function* (handlers) {
    const book = yield* BeneficiaryBook
    return handlers
      .handleRaw("list", ({ query }) =>
        withCaller((caller) =>
          Effect.flatMap(positionOf(query.cursor), (from) => book.page(caller, query.limit ?? DEFAULT_PAGE, from))
        ).pipe(Effect.map(pageView), respond(200))
      )
      .handleRaw("find", ({ params }) =>
        withCaller((caller) => book.find(caller, params.id)).pipe(Effect.map(beneficiaryView), respond(200))
      )
      .handleRaw("purge", () =>
        withCaller((caller, { rawHeaders }) => book.purge(caller, singleValue(rawHeaders, "x-confirm-purge"))).pipe(
          Effect.map((purged) => ({ purged })),
          respond(200)
        )
      )
  })
)

const pageView = ({ items, more }: { readonly items: ReadonlyArray<Beneficiary>; readonly more: boolean }) => {
  const last = items.at(-1)
  return { items: items.map(beneficiaryView), next_cursor: more && last !== undefined ? cursorOf(last) : null }
}
