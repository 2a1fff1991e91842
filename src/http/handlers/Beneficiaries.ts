import { Effect } from "effect"
import { type Beneficiary, beneficiaryView } from "../../domain/Beneficiary.ts"
import { BeneficiaryBook } from "../../services/BeneficiaryBook.ts"
import { cursorOf, DEFAULT_PAGE, positionOf } from "../api/Page.ts"
import { withCaller } from "../api/SignedRequest.ts"
import { handlersOf } from "../edge/Endpoints.ts"
import { singleValue } from "../edge/RequestHeaders.ts"
import { respond } from "../edge/Response.ts"

export const beneficiariesHandlers = Effect.gen(function* () {
  const book = yield* BeneficiaryBook
  return handlersOf("beneficiaries", {
    list: ({ query }) =>
      withCaller((caller) =>
        Effect.flatMap(positionOf(query.cursor), (from) => book.page(caller, query.limit ?? DEFAULT_PAGE, from))
      ).pipe(Effect.map(pageView), respond(200)),
    find: ({ params }) => withCaller((caller) => book.find(caller, params.id)).pipe(Effect.map(beneficiaryView), respond(200)),
    purge: () =>
      withCaller((caller, { rawHeaders }) => book.purge(caller, singleValue(rawHeaders, "x-confirm-purge"))).pipe(
        Effect.map((purged) => ({ purged })),
        respond(200)
      )
  })
})

const pageView = ({ items, more }: { readonly items: ReadonlyArray<Beneficiary>; readonly more: boolean }) => {
  const last = items.at(-1)
  return { items: items.map(beneficiaryView), next_cursor: more && last !== undefined ? cursorOf(last) : null }
}
