import { expect, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { h } from "preact"
import { renderToString } from "preact-render-to-string"
import { makeWallets } from "../../src/console/pages/Wallets.ts"
import { minor } from "../../src/domain/Money.ts"
import { GatewayStatus } from "../../src/services/ports/GatewayStatus.ts"
import { PeriodCounts } from "../../src/services/ports/PeriodCounts.ts"
import { WalletBalances } from "../../src/services/reference/WalletBalances.ts"
import { fake, unexpected } from "../fakes/Fake.ts"
import { picture } from "../observability/ManagementFixture.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { NOON } from "../support/SampleTransactions.ts"
import { eventually, said } from "../support/SignedClient.ts"
import { Stack, tenantOn } from "../support/Stack.ts"
import { personOn, textOf } from "./FormPerson.ts"

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0", PROVIDER_TIMEOUT_MS: "15000" }), { excludeTestServices: true })(
  "the page of wallets",
  (it) => {
    it.effect("has what the provider's account holds against the floats of all tenants, with the time of each figure", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        yield* tenantOn(gateway, 70_000n)
        yield* tenantOn(gateway, 20_000n)
        const person = yield* personOn(gateway, "viewer", "viewer")
        const page = textOf((yield* person.read("/wallets")).text)
        expect(page).toMatch(/live UGX UGX [\d,]+ UGX 90,000 UGX -?[\d,]+/)
        expect(page).toMatch(/eversend live UGX [\d,]+ (not named|UGX [\d,]+) \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/)
      })
    )
  }
)

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0", PROVIDER_TIMEOUT_MS: "15000" }), { excludeTestServices: true })(
  "a wallet that does not hold enough",
  (it) => {
    it.effect("is on Overview with its account, from the first payout that is refused, and leads to the wallets", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway, 70_000n)
        const person = yield* personOn(gateway, "viewer", "viewer")
        const line = "Refused within 15 minutes because our wallet at eversend live is too small: 1"
        expect((yield* person.read("/")).text).not.toContain("our wallet at")
        expect(said(yield* tenant.post("/v1/payouts", momoPayout("0013")))).toMatchObject({ code: "insufficient_wallet_float" })
        yield* Context.get(gateway.context, PeriodCounts).write
        expect((yield* person.read("/")).text).toContain(`<a href="/wallets">${line}</a>`)
      })
    )

    it.effect("is on Overview while tenants were promised more than all wallets hold", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        yield* tenantOn(gateway, 1_500_000_000_000n)
        const person = yield* personOn(gateway, "second", "viewer")
        const shown = yield* eventually(person.read("/"), ({ text }) => text.includes("allets hold less than the floats"))
        expect(textOf(shown.text)).toMatch(/Wallets hold less than the floats: [\d,]+ of UGX 1,500,000,\d{3},\d{3}, live/)
      })
    )
  }
)

it.effect("says where the floats of a database server are missing, and names no difference", () =>
  Effect.gen(function* () {
    const { routes } = yield* makeWallets
    const [route = unexpected("routes", [])] = routes
    const answer = yield* route.answer()
    const page = textOf(renderToString(h("main", null, answer._tag === "Page" ? answer.body : unexpected(answer._tag, []))))
    expect(page).toContain("A database server does not answer")
    expect(page).toContain("live UGX UGX 900 at least UGX 100 unknown")
  }).pipe(
    Effect.provide(
      Layer.merge(
        fake(WalletBalances, {
          read: Effect.succeed([
            {
              provider: "mtn",
              mode: "live" as const,
              isPrevious: false,
              asOf: NOON,
              wallets: [{ currency: "UGX" as const, available: minor(900n), pending: null }]
            }
          ])
        }),
        fake(GatewayStatus, {
          read: Effect.succeed({
            ...picture,
            floatsAreWhole: false,
            floats: [{ mode: "live" as const, currency: "UGX" as const, available: 100n, reserved: 0n, receivable: 0n }]
          })
        })
      )
    )
  )
)
