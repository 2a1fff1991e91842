import { Clock, Effect, Result, Schema } from "effect"
import type { SimulatedTransaction } from "./Facts.ts"
import { takenBackFacts } from "./Movements.ts"
import type { Order, SimulatorContext } from "./SimulatedProvider.ts"

/** An order whose body is read by a schema. */
export const order = <A>(
  schema: Schema.ConstraintDecoder<A>,
  obey: (context: SimulatorContext, wish: A, now: number) => Effect.Effect<string | null>
): Order => {
  const decode = Schema.decodeUnknownResult(Schema.fromJsonString(schema))
  return Effect.fnUntraced(function* (context, body) {
    const wish = decode(body)
    if (Result.isFailure(wish)) return String(wish.failure)
    return yield* obey(context, wish.success, yield* Clock.currentTimeMillis)
  })
}

/** The newest movement with this reference of the client, in any account of a provider. */
export const movementWith = (
  { account }: SimulatorContext,
  provider: string,
  accounts: ReadonlyArray<{ readonly clientId: string }>,
  reference: string
): SimulatedTransaction | undefined =>
  accounts.flatMap(({ clientId }) => account.byReference(provider, clientId, reference)).at(-1)

const Return = Schema.Struct({ client_reference: Schema.String })

/** Someone returns a movement in the provider's dashboard, and no callback is sent. */
export const returnOrder = (provider: string, accounts: ReadonlyArray<{ readonly clientId: string }>): Order =>
  order(Return, (context, { client_reference }, now) => {
    const found = movementWith(context, provider, accounts, client_reference)
    if (found?.status !== "successful" || found.returned) return Effect.succeed("no successful movement that could be sent back")
    return Effect.as(context.commit(takenBackFacts(found, now)), null)
  })
