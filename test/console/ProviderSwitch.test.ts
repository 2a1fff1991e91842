import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { AuditLog } from "../../src/services/ports/AuditLog.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { Stack, tenantOn } from "../support/Stack.ts"
import { personOn, textOf } from "./FormPerson.ts"

const PAGE = "/providers/eversend/change"

type Person = Effect.Success<ReturnType<typeof personOn>>

/** Sends the form of the page as it is, with a reason. */
const propose = Effect.fnUntraced(function* (person: Person, reason = "it paid twice") {
  const { text } = yield* person.read(PAGE)
  const [form = ""] = /<form method="post" action="[^"]*change"[^]*?<\/form>/.exec(text) ?? []
  const fields = [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value] as const)
  const kept = fields.filter(([name]) => name === "do" || name === "seen")
  return { kept, sent: yield* person.send("/", PAGE, [...kept, ["reason", reason]]) }
})
const approve = Effect.fnUntraced(function* (person: Person) {
  const id = /\/proposals\/(\w{26})\//.exec((yield* person.read(PAGE)).text)?.[1] ?? ""
  return yield* person.send("/", `/proposals/${id}/approve`, [])
})

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0" }), { excludeTestServices: true })(
  "the switch of a whole provider",
  (it) => {
    it.effect(
      "takes two people, an administrator among them, shows on the overview while it is off, and is in the audit log",
      () =>
        Effect.gen(function* () {
          const { gateway } = yield* Stack
          const tenant = yield* tenantOn(gateway, 100_000n)
          const [asha, biko] = [yield* personOn(gateway, "asha", "support"), yield* personOn(gateway, "biko", "approver")]
          const [ada, obi] = [yield* personOn(gateway, "ada", "admin"), yield* personOn(gateway, "obi", "admin")]
          const status = Effect.suspend(() =>
            Effect.map(tenant.post("/v1/payouts", momoPayout("1234")), (answer) => answer.status)
          )
          const overview = Effect.map(ada.read("/"), ({ text }) => textOf(text))
          expect(yield* status).toBe(201)
          expect(yield* overview).not.toContain("Switched off")

          expect((yield* propose(asha)).sent.to).toContain("said=proposed")
          const refused = yield* Effect.map(biko.read("/proposals"), ({ text }) => textOf(text))
          expect(refused).toContain("waits for an administrator")
          const [, id = ""] = /\/proposals\/(\w{26})\/approve/.exec((yield* ada.read(PAGE)).text) ?? []
          expect(textOf((yield* biko.send("/", `/proposals/${id}/approve`, [])).text)).toContain(
            "An administrator has to approve it."
          )
          expect(yield* status).toBe(201)
          expect((yield* approve(ada)).to).toContain("said=approved")
          expect(yield* status).toBe(422)
          expect(yield* overview).toContain("Switched off for everybody: eversend (it paid twice)")
          expect(textOf((yield* ada.read("/providers")).text)).toMatch(/eversend live yes off Change/)
          expect(textOf((yield* ada.read("/corridors/UG/UGX/payout/momo/change")).text)).toContain(
            "eversend is switched off for everybody"
          )

          // Nobody switches it on again alone, also no administrator.
          expect((yield* propose(ada, "it has mended it")).sent.to).toContain("said=proposed")
          expect((yield* approve(ada)).status).toBe(409)
          expect(yield* status).toBe(422)
          expect((yield* approve(obi)).to).toContain("said=approved")
          expect(yield* status).toBe(201)
          expect(yield* overview).not.toContain("Switched off")

          const { list, verify } = Context.get(gateway.context, AuditLog)
          const rows = (yield* list(100)).filter(({ subject }) => subject === "provider/eversend").toReversed()
          expect(rows.map(({ action, actor, details }) => [actor, action, details["approved_by"]])).toStrictEqual([
            ["console/asha", "provider off propose", undefined],
            ["console/ada", "provider off", "ada"],
            ["console/ada", "provider on propose", undefined],
            ["console/obi", "provider on", "obi"]
          ])
          expect((yield* verify(null)).access.filter(({ subject }) => /^(switch|proposal)/.test(subject))).toStrictEqual([])
        })
    )

    it.effect("is bound to the state that was looked at, and needs a reason and a provider that there is", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const [ada, obi] = [yield* personOn(gateway, "ama", "admin"), yield* personOn(gateway, "olu", "admin")]
        const { kept } = yield* propose(ada)
        expect((yield* approve(obi)).to).toContain("said=approved")
        const stale = yield* ada.send("/", PAGE, [...kept, ["reason", "again"]])
        expect([stale.status, textOf(stale.text)]).toStrictEqual([
          409,
          expect.stringContaining("It was changed since you looked")
        ])
        const wrong: ReadonlyArray<readonly [ReadonlyArray<readonly [string, string]>, string]> = [
          [[["do", "provider on"]], "the form is not whole"],
          [
            [
              ["do", "provider up"],
              ["seen", "never"],
              ["reason", "x"]
            ],
            "the form is not whole"
          ],
          [
            [
              ["do", "provider on"],
              ["seen", "1"]
            ],
            "say why"
          ]
        ]
        for (const [fields, message] of wrong) {
          const sent = yield* ada.send("/", PAGE, fields)
          expect([sent.status, textOf(sent.text)]).toStrictEqual([409, expect.stringContaining(message)])
        }
        expect((yield* ada.read("/providers/nobody/change")).status).toBe(404)
        expect((yield* propose(ada, "it has mended it")).sent.to).toContain("said=proposed")
        yield* approve(obi)
      })
    )
  }
)
