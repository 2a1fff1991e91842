import { expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readableRows } from "../../src/providers/Rows.ts"

const Wallet = Schema.Struct({ country: Schema.String, currency: Schema.String, balance: Schema.String })

it.effect("a row that the provider repeats is one row, and wallets that differ in any member are two", () =>
  Effect.gen(function* () {
    const [benin, togo] = ["BEN", "TGO"].map((country) => ({ country, currency: "XOF", balance: "5.00" }))
    expect(yield* readableRows("pawapay", "wallet_balances", Wallet, [benin, togo, { ...benin }])).toEqual([benin, togo])
  })
)
