import { Context, Effect, type Redacted } from "effect"
import { Corridors } from "../../src/services/ports/Corridors.ts"
import { momoCharge } from "./RequestBodies.ts"
import { type Answer, referenceOf } from "./SignedClient.ts"
import { asOwner, type Gateway, type tenantOn } from "./Stack.ts"
import { auditEntry } from "./TestDatabase.ts"

type Tenant = Effect.Success<ReturnType<typeof tenantOn>>

/** The simulator's only right code. */
export const RIGHT = "123456"

/** Mobile-money collections of a country demand a code, as an operator would switch them. */
export const demandCodes = Effect.fnUntraced(function* ({ context }: Gateway, country: string) {
  const corridors = Context.get(context, Corridors)
  const row = (yield* corridors.list).find(
    (one) => one.country === country && one.method === "momo" && one.direction === "collection"
  )
  if (row !== undefined) yield* corridors.put({ ...row, customerAction: "otp" }, auditEntry())
})

export const sourceOf = (ending: string) => momoCharge(ending).source

/** A collection that waits for its code. */
export const waiting = Effect.fnUntraced(function* (tenant: Tenant, ending: string) {
  const answer = yield* tenant.post("/v1/collections", momoCharge(ending))
  return { answer, reference: referenceOf(answer), pinId: pinIdOf(answer) }
})

/** The code of a collection, which was good for minutes, has just expired; the next poll finds that. */
export const codeExpires = Effect.fnUntraced(function* (database: Redacted.Redacted, reference: string) {
  const owner = yield* asOwner(database)
  const at = owner`(extract(epoch FROM now()) * 1000)::bigint`
  yield* Effect.orDie(owner`
    UPDATE transactions SET record =
      jsonb_set(jsonb_set(record::jsonb, '{expiresAt}', to_jsonb(${at})), '{nextAction,expiresAt}', to_jsonb(${at}))::json
    WHERE reference = ${reference}`)
  yield* Effect.orDie(owner`UPDATE open_work SET next_poll_at = now() WHERE reference = ${reference}`)
})

export const pinIdOf = ({ body }: Answer): string => body.data?.["next_action"]?.["pin_id"] ?? body.data?.["pin_id"] ?? ""

/** The wrapped form. */
export const wrapped = (pin_id: string, pin: string, ending: string, source: object = sourceOf(ending)) => ({
  authorization: { type: "otp", otp: { pin_id, pin } },
  source
})

export const authorize = (tenant: Pick<Tenant, "call">, reference: string, body: object, headers: Record<string, string> = {}) =>
  tenant.call("POST", `/v1/collections/${reference}/authorize`, body, headers)
