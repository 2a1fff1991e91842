import { Effect, Result } from "effect"
import { type BankAccount, bankAccountView } from "../../domain/BankAccount.ts"
import { iso } from "../../domain/Instant.ts"
import { corridorView } from "../../domain/View.ts"
import { type LimitUse, LimitUses } from "../../services/admission/LimitUses.ts"
import { Capabilities } from "../../services/reference/Capabilities.ts"
import { Reference, type ServedBranch, type ServedCorridor, type ServedCountry } from "../../services/reference/Reference.ts"
import { ResolveBody } from "../api/Reference.ts"
import { withCaller } from "../api/SignedRequest.ts"
import { type Body, type BodyError, invalid, makeDecoder } from "../body/Body.ts"
import { accountOf } from "../body/Parties.ts"
import { withSignedBody } from "../body/SignedBody.ts"
import { handlersOf } from "../edge/Endpoints.ts"
import { respond, respondEach } from "../edge/Response.ts"
import type { JsonTree } from "../json/StrictJson.ts"

export const referenceHandlers = Effect.gen(function* () {
  const reference = yield* Reference
  return handlersOf("reference", {
    banks: ({ params }) => withCaller((caller) => reference.banks(caller, params.country)).pipe(respond(200)),
    branches: ({ params }) =>
      withCaller((caller) => reference.branches(caller, { country: params.country, bankCode: params.bank_code })).pipe(
        respondEach(branchView)
      ),
    resolve: () =>
      withSignedBody(resolveBody, (caller, command) =>
        Effect.map(reference.resolve(caller, command), (holder) => bankAccountView(command, holder))
      ),
    corridors: ({ query }) =>
      withCaller(reference.corridors).pipe(
        Effect.map((rows) => rows.map(servedView).filter(hasAll(query))),
        respond(200)
      ),
    countries: () => withCaller(reference.countries).pipe(respondEach(countryView))
  })
})

/** Whether a row has all of these values, compared as text. */
const hasAll =
  (wanted: Readonly<Record<string, string>>) =>
  (row: Readonly<Record<string, unknown>>): boolean =>
    Object.entries(wanted).every(([name, value]) => String(row[name]) === value)

const servedView = (row: ServedCorridor) => ({
  ...corridorView(row, row.provider),
  requires_branch: row.requiresBranch,
  requires_sender: row.requiresSender
})

const branchView = ({ bankCode, code, country, name }: ServedBranch) => ({ code, name, bank_code: bankCode, country })

const countryView = ({ country, currencies, methods, name, phonePrefix }: ServedCountry) => ({
  country,
  name,
  phone_prefix: phonePrefix,
  currencies,
  methods
})

const decode = makeDecoder(ResolveBody)

/** The body of `POST /v1/reference/resolve-bank-account`. */
export const resolveBody = (body: JsonTree): Result.Result<Body<BankAccount>, BodyError> =>
  Result.gen(function* () {
    const { ignored, wire } = yield* decode(body)
    const account = accountOf(wire, "")
    if (Result.isFailure(account)) return yield* invalid(account.failure)
    return { command: account.success, fingerprint: account.success, ignored }
  })

export const capabilitiesHandlers = Effect.gen(function* () {
  const capabilities = yield* Capabilities
  const limits = yield* LimitUses
  return handlersOf("capabilities", {
    list: () => withCaller(capabilities.rows).pipe(respond(200)),
    limits: () => withCaller(limits.list).pipe(respondEach(limitView))
  })
})

const limitView = ({ bound, currency, direction, endsAt, length, of, used }: LimitUse) => ({
  direction,
  window: length,
  applies_to: of,
  scope: currency === null ? "count" : "amount",
  maximum_count: currency === null ? Number(bound) : null,
  used_count: currency === null && used !== null ? Number(used) : null,
  currency,
  maximum_minor: currency === null ? null : bound,
  used_minor: currency === null ? null : used,
  window_ends_at: iso(endsAt)
})
