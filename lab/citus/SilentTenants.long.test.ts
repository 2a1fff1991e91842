import { expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, Reference } from "../../src/domain/Ids.ts"
import { EveryTenant } from "../../src/persistence/cluster/EveryTenant.ts"
import { CodesPg } from "../../src/persistence/requests/CodesPg.ts"
import { PayerLocksPg } from "../../src/persistence/requests/PayerLocksPg.ts"
import { BeneficiariesPg } from "../../src/persistence/transactions/BeneficiariesPg.ts"
import { QuotesPg } from "../../src/persistence/transactions/QuotesPg.ts"
import { Beneficiaries } from "../../src/services/ports/Beneficiaries.ts"
import { Codes } from "../../src/services/ports/Codes.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import { PayerLocks } from "../../src/services/ports/PayerLocks.ts"
import { Quotes } from "../../src/services/ports/Quotes.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { givenTenantWith, openOne } from "../../test/support/LedgerSteps.ts"
import { givenClaim } from "../../test/support/PaymentRequests.ts"
import { givenLedger } from "../../test/support/TestLedger.ts"
import { FIRST, failing, givenTwoServers, RAISED, whileUnheard } from "./TwoServers.ts"

/** What became of a statement: refused before it was sent, or sent. */
const ended = <A, E, R>(statement: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(statement), (exit) =>
    Exit.isFailure(exit) && Cause.pretty(exit.cause).includes(`${FIRST} does not answer`) ? "refused" : "sent"
  )

it.live(
  "what is about one tenant's rows is not sent to a server that is silent, whether it names the tenant or the reference",
  () =>
    Effect.gen(function* () {
      const { first, owner, second, url } = yield* givenTwoServers
      yield* owner.unsafe(RAISED)
      const node = yield* givenLedger(url)
      yield* Effect.gen(function* () {
        const [{ complete, release }, { byReference, history }] = [yield* Idempotency, yield* Transactions]
        const [{ positions }, { charges }] = [yield* FloatLedger, yield* PayerLocks]
        const [quotes, beneficiaries, codes] = [yield* Quotes, yield* Beneficiaries, yield* Codes]
        const everyTenant = yield* EveryTenant
        const statementsOf = Effect.fnUntraced(function* (name: string) {
          const appId = AppId.make(name)
          yield* owner`DELETE FROM tenant_directory WHERE app_id = ${appId}`
          yield* givenTenantWith(appId, 50_000n)
          yield* openOne(appId, "opened", 1_000n)
          const [row] = yield* owner<{ reference: string }>`SELECT reference FROM transactions WHERE app_id = ${appId}`
          const reference = Reference.make(row?.reference ?? "")
          // Whose it is, is known from now on.
          yield* byReference(reference)
          const [claim, other] = [yield* givenClaim(appId, "completed"), yield* givenClaim(appId, "released")]
          return [
            ended(complete(claim, { status: 422, body: "{}" })),
            ended(release(other)),
            ended(byReference(reference)),
            ended(history(reference)),
            ended(positions(appId, "live")),
            ended(charges(appId, "live", new Uint8Array(32))),
            ended(quotes.find(appId, "live", reference)),
            ended(beneficiaries.find(appId, "live", reference)),
            ended(codes.sentBy({ appId, mode: "live", partyHash: new Uint8Array(32), pinId: "pin" }))
          ]
        })
        const [ofFirst, ofSecond] = [yield* statementsOf(first), yield* statementsOf(second)]
        const sql = yield* SqlClient.SqlClient
        yield* whileUnheard(owner, everyTenant.sweep(failing(sql, first, "08006")))
        expect(yield* everyTenant.silentServers).toEqual([FIRST])
        expect(yield* Effect.all(ofFirst)).toEqual(ofFirst.map(() => "refused"))
        expect(yield* Effect.all(ofSecond)).toEqual(ofSecond.map(() => "sent"))
      }).pipe(Effect.provide(Layer.mergeAll(PayerLocksPg, QuotesPg, BeneficiariesPg, CodesPg)), Effect.provideContext(node))
    }).pipe(Effect.scoped)
)
