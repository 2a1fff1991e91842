import { expect, layer } from "@effect/vitest"
import { Context, Effect, Option } from "effect"
import { AppId } from "../../src/domain/Ids.ts"
import { AuditLog } from "../../src/services/ports/AuditLog.ts"
import { Corridors } from "../../src/services/ports/Corridors.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { changeCorridor, type Gateway, Stack, tenantOn } from "../support/Stack.ts"
import { auditEntry } from "../support/TestDatabase.ts"
import { personOn, textOf } from "./FormPerson.ts"

const UGANDA = "/corridors/UG/UGX/payout/momo/change"
const key = { country: "UG", currency: "UGX", direction: "payout", method: "momo" } as const

type Person = Effect.Success<ReturnType<typeof personOn>>

/** What the form that makes the change would send, from the page that says what would change. */
const formOf = Effect.fnUntraced(function* (person: Person, address: string) {
  const { text } = yield* person.read(address)
  const [form = ""] = /<form method="post" action="[^"]*change"[^]*?<\/form>/.exec(text) ?? []
  const fields = [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value] as const)
  return { fields: fields.filter(([name]) => name !== "form_token" && name !== "reason"), shown: textOf(text) }
})
const send = (person: Person, to: string, fields: ReadonlyArray<readonly [string, string]>, reason = "eversend is slow") =>
  person.send("/", to, [...fields, ["reason", reason]])

const rowOf = (gateway: Gateway) => Effect.map(Context.get(gateway.context, Corridors).find(key), Option.getOrThrow)
const rowsAbout = (gateway: Gateway, subject: string) =>
  Effect.map(Context.get(gateway.context, AuditLog).list(500), (rows) =>
    rows.filter((row) => row.subject === subject).toReversed()
  )
/** Proposals that are not as the audit log has them. */
const forgedProposals = (gateway: Gateway) =>
  Effect.map(Context.get(gateway.context, AuditLog).verify(null), ({ access }) =>
    access.filter(({ subject }) => subject.startsWith("proposal"))
  )
const isFrozen = (gateway: Gateway, appId: string) =>
  Effect.map(
    Context.get(gateway.context, Tenants).find(AppId.make(appId)),
    (found) => Option.getOrThrow(found).status === "frozen"
  )

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0" }), { excludeTestServices: true })(
  "a change of where money goes",
  (it) => {
    it.effect("says what it would change before, and is made by an administrator at once, while the row is as it was seen", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const admin = yield* personOn(gateway, "amina", "admin")
        const { fields, shown } = yield* formOf(admin, `${UGANDA}?providers=mtn%2C+eversend&active=true`)
        const before = yield* rowOf(gateway)
        expect(shown).toContain(`Tried in this order ${before.providers.join(", ")} mtn, eversend`)
        expect(shown).toMatch(/What would change .* mtn has no account in the settings .*Change it/)
        const { text } = yield* admin.read(UGANDA)
        expect(textOf(text)).toContain("Able to serve it: eversend.")
        expect(textOf(text)).toMatch(
          /Not offered, by the settings here: .*airtel has no account in the settings .*mtn has no account/
        )
        expect((yield* send(admin, UGANDA, fields)).to).toContain("said=changed")
        expect((yield* rowOf(gateway)).providers).toStrictEqual(["mtn", "eversend"])
        // The row is not the one that was looked at any more.
        const again = yield* send(admin, UGANDA, fields)
        expect([again.status, textOf(again.text)]).toStrictEqual([
          409,
          expect.stringContaining("It was changed since you looked at it")
        ])
        const audit = (yield* rowsAbout(gateway, "UG/UGX/payout/momo")).filter(({ actor }) => actor === "console/amina")
        expect(audit.map(({ action, details: { provider, reason } }) => [action, provider, reason])).toStrictEqual([
          ["corridor set", "mtn,eversend", "eversend is slow"]
        ])
        for (const [providers, mistake] of [
          ["nobody", "there is no provider nobody"],
          ["eversend,eversend", "a provider is named twice"],
          ["", "a corridor needs a provider"]
        ] as const) {
          const wrong = yield* formOf(admin, `${UGANDA}?${new URLSearchParams({ providers, active: "true" })}`)
          expect([wrong.fields, wrong.shown]).toStrictEqual([[], expect.stringContaining(`It cannot be made: ${mistake}`)])
          const seen = String((yield* rowOf(gateway)).updatedAt)
          const sent = yield* send(admin, UGANDA, [
            ["providers", providers],
            ["active", "true"],
            ["seen", seen]
          ])
          expect([sent.status, textOf(sent.text)]).toStrictEqual([409, expect.stringContaining(mistake)])
        }
        yield* changeCorridor(gateway, key, { providers: before.providers })
      })
    )

    it.effect(
      "is proposed by everybody else, made when another person approves it, and not where the row was changed meanwhile",
      () =>
        Effect.gen(function* () {
          const { gateway } = yield* Stack
          const [asha, biko] = [yield* personOn(gateway, "asha", "support"), yield* personOn(gateway, "biko", "approver")]
          const viewer = yield* personOn(gateway, "vera", "viewer")
          const closing = `${UGANDA}?providers=eversend&active=false`
          const { fields } = yield* formOf(asha, closing)
          expect((yield* send(viewer, UGANDA, fields)).status).toBe(403)
          expect((yield* send(asha, UGANDA, fields)).to).toContain("said=proposed")
          expect((yield* rowOf(gateway)).active).toBe(true)
          const list = yield* biko.read("/proposals")
          expect(textOf(list.text)).toContain("Open now: true Open then: false")
          const id = /\/proposals\/(\w{26})\/approve/.exec(list.text)?.[1] ?? ""
          expect((yield* asha.send("/", `/proposals/${id}/approve`, [])).status).toBe(403)
          expect((yield* biko.send("/", `/proposals/${id}/approve`, [])).to).toContain("said=approved")
          expect(yield* rowOf(gateway)).toMatchObject({
            active: false,
            inactiveReason: "eversend is slow",
            providers: ["eversend"]
          })
          const rows = yield* rowsAbout(gateway, "UG/UGX/payout/momo")
          expect(rows.at(-1)).toMatchObject({
            actor: "console/biko",
            action: "corridor set",
            details: { active: "false", proposed_by: "asha", approved_by: "biko" }
          })

          const opening = yield* formOf(asha, `${UGANDA}?providers=eversend&active=true`)
          yield* send(asha, UGANDA, opening.fields)
          yield* changeCorridor(gateway, key, { active: true, inactiveReason: null, updatedAt: Date.now() })
          const open = /\/proposals\/(\w{26})\/approve/.exec((yield* biko.read("/proposals")).text)?.[1] ?? ""
          const stale = yield* biko.send("/", `/proposals/${open}/approve`, [])
          expect([stale.status, textOf(stale.text)]).toStrictEqual([
            409,
            expect.stringContaining("It was changed since you looked at it")
          ])
          expect(yield* forgedProposals(gateway)).toStrictEqual([])
        })
    )

    it.effect("freezes a tenant at once, and takes two people to let it move money again", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway, 100_000n)
        const path = `/tenants/${tenant.appId}/change`
        const [admin, other] = [yield* personOn(gateway, "ada", "admin"), yield* personOn(gateway, "obi", "admin")]
        const { fields, shown } = yield* formOf(admin, `${path}?do=tenant+freeze`)
        expect(shown).toContain("Status active frozen")
        expect((yield* send(admin, path, fields, "stolen keys")).to).toContain("said=changed")
        expect(yield* isFrozen(gateway, tenant.appId)).toBe(true)
        expect((yield* tenant.post("/v1/payouts", momoPayout("1234"))).status).toBe(403)
        expect(textOf((yield* send(other, path, fields)).text)).toContain("It was changed since you looked at it")

        const thaw = yield* formOf(admin, `${path}?do=tenant+unfreeze`)
        expect((yield* send(admin, path, thaw.fields, "new keys")).to).toContain("said=proposed")
        expect(yield* isFrozen(gateway, tenant.appId)).toBe(true)
        const id = /\/proposals\/(\w{26})\/approve/.exec((yield* other.read(path)).text)?.[1] ?? ""
        expect((yield* other.send("/", `/proposals/${id}/approve`, [])).to).toContain("said=approved")
        expect(yield* isFrozen(gateway, tenant.appId)).toBe(false)
        expect((yield* tenant.post("/v1/payouts", momoPayout("1234"))).status).toBe(201)
        const audit = yield* rowsAbout(gateway, tenant.appId)
        expect(audit.map(({ action, actor }) => `${actor} ${action}`).filter((one) => one.startsWith("console"))).toStrictEqual([
          "console/ada tenant freeze",
          "console/ada tenant unfreeze propose",
          "console/obi tenant unfreeze"
        ])
      })
    )

    it.effect("pins a tenant to a provider and undoes it, each while the pin is the one that was seen", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const appId = AppId.make(tenant.appId)
        const tenants = Context.get(gateway.context, Tenants)
        const pinned = Effect.map(tenants.find(appId), (found) => Option.getOrThrow(found).pinned)
        const path = `/tenants/${appId}/change`
        const [asha, biko] = [yield* personOn(gateway, "aliya", "support"), yield* personOn(gateway, "bello", "approver")]
        const decide = Effect.fnUntraced(function* () {
          const id = /\/proposals\/(\w{26})\/approve/.exec((yield* biko.read(path)).text)?.[1] ?? ""
          return yield* biko.send("/", `/proposals/${id}/approve`, [])
        })
        const { text } = yield* asha.read(path)
        expect([...text.matchAll(/<option value="(\w+)"/g)].map(([, name]) => name)).toStrictEqual(["eversend"])
        expect(textOf(text)).toMatch(/Not offered, by the settings here: no open corridor names pawapay .*mtn/)
        const doubtful = yield* formOf(asha, `${path}?do=tenant+pin&provider=airtel`)
        expect(doubtful.shown).toContain("KE KES payout momo would not work for it: airtel has no account in the settings.")
        const strange = yield* formOf(asha, `${path}?do=tenant+pin&provider=nobody`)
        expect([strange.fields, strange.shown]).toStrictEqual([[], expect.stringContaining("There is no provider nobody.")])

        const pin = yield* formOf(asha, `${path}?do=tenant+pin&provider=eversend`)
        expect(pin.shown).toContain("Pinned to no provider eversend")
        yield* send(asha, path, pin.fields)
        yield* decide()
        expect(yield* pinned).toBe("eversend")
        const unpin = yield* formOf(asha, `${path}?do=tenant+unpin`)
        yield* send(asha, path, unpin.fields)
        yield* tenants.pin(appId, "mtn", auditEntry({ action: "tenant pin", subject: appId, details: { provider: "mtn" } }))
        expect((yield* decide()).status).toBe(409)
        expect(yield* pinned).toBe("mtn")
        const back = yield* formOf(asha, `${path}?do=tenant+unpin`)
        yield* send(asha, path, back.fields)
        yield* decide()
        expect(yield* pinned).toBe(null)
        expect(yield* forgedProposals(gateway)).toStrictEqual([])
      })
    )
  }
)
