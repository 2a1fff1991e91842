import { Effect, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { bankAccountView } from "../../domain/BankAccount.ts"
import { corridorView } from "../../domain/View.ts"
import { Reference, type ServedCountry } from "../../services/reference/Reference.ts"
import { Api } from "../Api.ts"
import { checkMode, readTree } from "../Body.ts"
import { resolveBody } from "../ReferenceBody.ts"
import { respond, withIgnoredHeader } from "../Response.ts"
import { Signed } from "../SignedRequest.ts"

export const ReferenceHandlers = HttpApiBuilder.group(
  Api,
  "reference",
  Effect.fnUntraced(function* (handlers) {
    const reference = yield* Reference
    return handlers
      .handleRaw("banks", ({ params }) =>
        Effect.flatMap(Signed, ({ caller }) => reference.banks(caller, params.country)).pipe(respond(200))
      )
      .handleRaw("resolve", () =>
        Effect.flatMap(Signed, ({ body, caller }) => {
          const asked = readTree(body).pipe(
            Result.flatMap((tree) => checkMode(tree, caller.mode)),
            Result.flatMap(resolveBody)
          )
          const ignored = Result.isSuccess(asked) ? asked.success.ignored : []
          return Effect.fromResult(asked).pipe(
            Effect.flatMap(({ command }) =>
              Effect.map(reference.resolve(caller, command), (holder) => bankAccountView(command, holder))
            ),
            respond(200),
            Effect.map(withIgnoredHeader(ignored))
          )
        })
      )
      .handleRaw("corridors", () =>
        Effect.flatMap(Signed, ({ caller }) => reference.corridors(caller)).pipe(
          Effect.map((rows) => rows.map((row) => corridorView(row, row.provider))),
          respond(200)
        )
      )
      .handleRaw("countries", () =>
        Effect.flatMap(Signed, ({ caller }) => reference.countries(caller)).pipe(
          Effect.map((countries) => countries.map(countryView)),
          respond(200)
        )
      )
  })
)

const countryView = ({ country, currencies, methods, name, phonePrefix }: ServedCountry) => ({
  country,
  name,
  phone_prefix: phonePrefix,
  currencies,
  methods
})
