import { expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { Reference } from "../../src/domain/Ids.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { gateway as command } from "../commands/Gateway.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { eventually, referenceOf } from "../support/SignedClient.ts"
import { asOwner, Stack, tenantOn, verified } from "../support/Stack.ts"
import { masterKey } from "../support/TestDatabase.ts"
import { personOn, textOf } from "./FormPerson.ts"

const MS = "\\d+\\.\\d ms"

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0", PROVIDER_TIMEOUT_MS: "1500" }), { excludeTestServices: true })(
  "the page of a payment",
  (it) => {
    it.effect("says of each call to a provider where its time went: the price, the sending, and each question after it", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway, 90_000n)
        const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))
        const person = yield* personOn(gateway, "asha", "support")
        const read = Effect.map(person.read(`/transactions/${reference}`), ({ text }) => textOf(text))
        const shown = yield* eventually(read, (text) => / transaction HTTP 200 /.test(text))
        for (const call of ["quotation", "payout"])
          expect(shown).toMatch(new RegExp(`eversend ${call} HTTP 20[01] ${MS} (none|${MS}) ${MS} .*? ${MS} ${MS} 20\\d\\d-`))
        expect(shown).not.toContain("calls: ")
        // A line of the history has them, and no statement was made for it.
        const lines = yield* Context.get(gateway.context, Transactions).history(Reference.make(reference))
        expect(lines.map(({ calls = [], fact }) => [fact, calls.map(({ operation }) => operation)]).slice(0, 2)).toEqual([
          ["Opened", expect.arrayContaining(["quotation"])],
          [expect.any(String), ["payout"]]
        ])
        expect(lines.map(({ note }) => note).join("")).not.toContain("calls: ")
        yield* verified(gateway)
      })
    )

    it.effect(
      "says of a call without an answer how long it was waited for, also where the list of unknown outcomes leads to it",
      () =>
        Effect.gen(function* () {
          const { gateway } = yield* Stack
          const tenant = yield* tenantOn(gateway, 90_000n)
          const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0004")))
          const person = yield* personOn(gateway, "second", "support")
          const shown = textOf((yield* person.read(`/transactions/${reference}`)).text)
          expect(shown).toMatch(
            new RegExp(`eversend payout no answer in time 15\\d\\d\\.\\d ms (none|${MS}) ${MS} (none|${MS}) .*? none none 20`)
          )
          for (const page of ["/unknown", "/"]) {
            const list = textOf((yield* person.read(page)).text)
            expect(list).toContain("it took the request and did not answer (no answer in time)")
            expect(list).not.toContain("calls: ")
          }
        })
    )

    it.effect("leads from a person's ruling to the audit log, which says whose it was", () =>
      Effect.gen(function* () {
        const { database, gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway, 90_000n)
        const reference = Reference.make(referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010"))))
        const said = { _tag: "Mismatched", note: "" } as const
        yield* Context.get(gateway.context, Settlement).apply({ reference, fact: said, actor: "callback" })
        const settings = { DATABASE_URL: Redacted.value(database), MASTER_KEY: Redacted.value(masterKey) }
        const ruling = ["review", "resolve", reference, "--outcome", "failed", "--evidence", "their statement"]
        expect((yield* command(settings, ...ruling)).errors).toBe("")
        const person = yield* personOn(gateway, "fourth", "support")
        const page = `/audit?subject=${reference}`
        expect((yield* person.read(`/transactions/${reference}`)).text).toContain(`<a href="${page}">a person's review</a>`)
        expect(textOf((yield* person.read(page)).text)).toContain(`review resolve ${reference}`)
      })
    )

    it.effect("says nothing of a payment of an earlier release, whose calls were not timed", () =>
      Effect.gen(function* () {
        const { database, gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway, 90_000n)
        const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0008")))
        const owner = yield* asOwner(database)
        yield* owner`UPDATE journal SET note = regexp_replace(note, '(; )?calls: .*$', '') WHERE reference = ${reference}`
        const person = yield* personOn(gateway, "third", "support")
        const shown = textOf((yield* person.read(`/transactions/${reference}`)).text)
        expect(shown).toContain("No call was timed: none was made, or an earlier release made it.")
      })
    )
  }
)
