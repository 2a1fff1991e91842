import { randomBytes } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { Vault } from "../../../src/services/ports/Vault.ts"
import { gateway as command } from "../../commands/Gateway.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { client, referenceOf, said } from "../../support/SignedClient.ts"
import { gatewayOn, givenStack, tenantOn } from "../../support/Stack.ts"
import { givenNode, masterKey } from "../../support/TestDatabase.ts"

const refused = (code: string, details: object = {}) => ({ status: 403, code, class: "terminal", details })

const operatorOf = (database: Redacted.Redacted, key = Redacted.value(masterKey)) =>
  Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
    const ran = yield* command({ DATABASE_URL: Redacted.value(database), MASTER_KEY: key }, ...args, "--json")
    expect(ran).toMatchObject({ code: 0, errors: "" })
    return JSON.parse(ran.output)
  })

describe("an operator's change", () => {
  it.live("of a freeze or a capability applies on every node to what comes next, while open work still settles", () =>
    Effect.gen(function* () {
      const { database, gateway, simulator } = yield* givenStack()
      const two = yield* gatewayOn(database, simulator)
      const operator = operatorOf(database)
      const tenant = yield* tenantOn(gateway, 100_000n)
      const onTwo = client(two, tenant.key)
      const open = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))

      yield* operator("tenant", "freeze", tenant.appId, "--reason", "fraud")
      for (const node of [tenant, onTwo]) {
        expect(said(yield* node.post("/v1/payouts", momoPayout("1234")))).toEqual(refused("tenant_frozen"))
        expect(said(yield* node.post("/v1/collections", momoCharge("1234")))).toEqual(refused("tenant_frozen"))
        expect((yield* node.get("/v1/float")).status).toBe(200)
      }
      expect(yield* onTwo.until(`/v1/payouts/${open}`, ({ status }) => status === "successful")).toBeDefined()

      yield* operator("tenant", "unfreeze", tenant.appId, "--reason", "cleared")
      yield* operator("tenant", "deny", tenant.appId, "payouts")
      for (const node of [tenant, onTwo]) {
        expect(said(yield* node.post("/v1/payouts", momoPayout("1234")))).toEqual(
          refused("capability_not_allowed", { capability: "payouts" })
        )
        expect((yield* node.post("/v1/collections", momoCharge(node === onTwo ? "1235" : "1236"))).status).toBe(201)
      }
      yield* operator("tenant", "grant", tenant.appId, "payouts")
      expect((yield* onTwo.post("/v1/payouts", momoPayout("1234"))).status).toBe(201)
    })
  )

  it.live("of the master key finds nothing of an open payout to seal anew, and changes no hash", () =>
    Effect.gen(function* () {
      const stack = yield* Scope.make()
      const { database, gateway } = yield* Scope.provide(givenStack({ RECONCILER_SCHEDULE: "1h" }), stack)
      const tenant = yield* tenantOn(gateway, 100_000n)
      const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010")))
      const hashOf = (context: Context.Context<Vault>) => Context.get(context, Vault).hash("party", Redacted.make("one"))
      const hashed = hashOf(gateway.context)
      yield* Scope.close(stack, Exit.void)
      const renewed = randomBytes(32).toString("base64")
      const folder = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "gateway-rotation-"))),
        (made) => Effect.promise(() => rm(made, { recursive: true, force: true }))
      )
      const oldKey = join(folder, "old.key")
      yield* Effect.promise(() => writeFile(oldKey, Redacted.value(masterKey)))
      const { rewrapped } = yield* operatorOf(database, renewed)("secrets", "rotate", "--from", oldKey)
      expect(rewrapped).toMatchObject({ "open_work.sealed_destination": 0, "vault_keys.sealed": 2 })

      const node = yield* givenNode(database, Redacted.make(renewed))
      const sql = Context.get(node, SqlClient.SqlClient)
      const [row] =
        yield* sql`SELECT sealed_destination FROM open_work WHERE app_id = ${tenant.appId} AND reference = ${reference}`
      expect(row).toEqual({ sealed_destination: null })
      expect(hashOf(node)).toEqual(hashed)
    })
  )
})
