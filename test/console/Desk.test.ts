import { expect, layer } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import { consoleOf } from "../../src/ConfigConsole.ts"
import { reader } from "../../src/ConfigRules.ts"
import { makeRooms } from "../../src/console/Console.ts"
import { verdicts } from "../../src/domain/Candidates.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { consoleServices } from "../../src/Services.ts"
import { AuditLog } from "../../src/services/ports/AuditLog.ts"
import { Corridors } from "../../src/services/ports/Corridors.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { client, referenceOf } from "../support/SignedClient.ts"
import { Stack, tenantOn, verified } from "../support/Stack.ts"
import { consoleOn, operatorOn, type Shown } from "./ConsoleClient.ts"

const { approvalFrom } = consoleOf(reader({}, []), [], [])

/** The whole console over a gateway that runs, with somebody of each role at it. */
class Desk extends Context.Service<Desk, Effect.Success<typeof given>>()("test/Desk") {
  static readonly layer = Layer.effect(
    Desk,
    Effect.suspend(() => given)
  )
}
const given = Effect.gen(function* () {
  const { gateway } = yield* Stack
  const { browser } = yield* Effect.gen(function* () {
    return yield* consoleOn(yield* makeRooms({ traceUrl: null }))
  }).pipe(Effect.provide(consoleServices(approvalFrom)), Effect.provideContext(gateway.context))
  const loggedIn = Effect.fnUntraced(function* (role: "support" | "approver" | "admin") {
    const person = browser()
    yield* person.logIn(role, yield* operatorOn(role, role))
    return person
  })
  const people = Effect.all([loggedIn("support"), loggedIn("approver"), loggedIn("admin")]).pipe(
    Effect.provide(consoleServices(approvalFrom)),
    Effect.provideContext(gateway.context)
  )
  const [support, approver, admin] = yield* people
  return { gateway, support, approver, admin }
})

const saidBy = ({ headers }: Shown) => new URL(headers.get("location") ?? "/", "http://console").searchParams.get("said")
const proposalOn = ({ text }: Shown) => /\/proposals\/(\w{26})\//.exec(text)?.[1]
/** What somebody reads, without tags. */
const words = ({ text }: Shown) => text.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ")

const stack = Layer.provideMerge(Desk.layer, Stack.layer({ RECONCILER_SCHEDULE: "1h" }))

layer(stack, { excludeTestServices: true })("the console, by forms alone", (it) => {
  it.effect("acknowledges what is open or in review, with a note, and says until when its alerts rest", () =>
    Effect.gen(function* () {
      const { gateway, support } = yield* Desk
      const tenant = yield* tenantOn(gateway, 9_000_000n)
      const body = { ...momoPayout("0010"), amount_minor: 5_000_000 }
      const reference = Reference.make(referenceOf(yield* tenant.post("/v1/payouts", body)))
      const amount = minor(4_999_999n)
      const fact = { _tag: "Succeeded", providerReference: null, amount, currency: "UGX", fee: null, note: "" } as const
      yield* Context.get(gateway.context, Settlement).apply({ reference, fact, actor: "callback" })
      const back = `/reviews/${reference}`
      const path = `/transactions/${reference}/acknowledge`
      const acknowledge = (form: Record<string, string>, to = path) => support.submit(back, to, { back, ...form })
      expect(saidBy(yield* acknowledge({ taken: " ", hours: "24" }))).toBe("reason-missing")
      for (const hours of ["0", "73", "1e1", ""]) expect(saidBy(yield* acknowledge({ taken: "x", hours }))).toBe("hours-wrong")
      expect(words(yield* support.read(back))).not.toContain("alerts rest until")
      const done = yield* acknowledge({ taken: "asked 256772123456, ticket 71", hours: "4" })
      expect([done.headers.get("location"), saidBy(done)]).toEqual([`${back}?said=acknowledged`, "acknowledged"])
      for (const page of [back, `/transactions/${reference}`])
        expect(words(yield* support.read(page))).toContain("its alerts rest until")
      const [row] = yield* Context.get(gateway.context, AuditLog).list(1)
      expect(row).toMatchObject({ actor: "console/support", action: "review acknowledge", subject: reference })
      expect(row?.details).toEqual({ note: "asked ••••3456, ticket 71", hours: "4" })
      const nothing = `/transactions/${"0".repeat(26)}/acknowledge`
      expect(saidBy(yield* acknowledge({ taken: "x", hours: "4" }, nothing))).toBe("not-open")
    })
  )

  it.effect(
    "shows why a payment went to its provider: each that it could go to, in words, and the same line in its history",
    () =>
      Effect.gen(function* () {
        const { gateway, support } = yield* Desk
        const tenant = yield* tenantOn(gateway, 90_000n)
        const reference = Reference.make(
          referenceOf(yield* tenant.post("/v1/payouts", { ...momoPayout("0010"), amount_minor: 5_000 }))
        )
        const shown = words(yield* support.read(`/transactions/${reference}`))
        expect(shown).toContain("Why this provider")
        expect(shown).toContain(`eversend 1 used ${verdicts.used}`)
        expect(shown).toContain("Candidates: eversend used #1")
        const [opened] = yield* Context.get(gateway.context, Transactions).history(reference)
        expect([opened?.fact, opened?.note]).toEqual(["Opened", "candidates: eversend used #1; airtel no_account"])
      })
  )

  it.effect("lists the payments that found no provider, with why each one was passed over", () =>
    Effect.gen(function* () {
      const { admin, gateway, support } = yield* Desk
      const tenant = yield* tenantOn(gateway, 90_000n)
      const key = { country: "RW", currency: "RWF", direction: "payout", method: "momo" } as const
      const { providers, updatedAt } = Option.getOrThrow(yield* Context.get(gateway.context, Corridors).find(key))
      const closed = { providers: providers.join(","), active: "false", seen: String(updatedAt), reason: "the network is down" }
      yield* admin.submit("/providers", "/corridors/RW/RWF/payout/momo/change", closed)
      const destination = { type: "momo", msisdn: "250782123456", network: "MTN", country: "RW" }
      const body = { ...momoPayout("0010"), currency: "RWF", country: "RW", destination }
      expect((yield* tenant.post("/v1/payouts", body)).body.error?.code).toBe("corridor_unsupported")
      const shown = words(yield* support.read("/providers"))
      expect(shown).toMatch(/Found no provider .* POST \/v1\/payouts .* the corridor is switched off/)
      expect(shown).toContain(tenant.appId)
    })
  )

  it.effect(
    "credits a float by two people, loses nothing of a form that is wrong, and shows each entry with what there was after it",
    () =>
      Effect.gen(function* () {
        const { approver, gateway, support } = yield* Desk
        const tenant = yield* tenantOn(gateway, 9_000n)
        const page = `/floats/${tenant.appId}`
        const form = {
          direction: "credit",
          mode: "live",
          currency: "UGX",
          amount: "12,500",
          external_id: "bank-17",
          why: 'transfer "17"'
        }
        const propose = (wrong: Record<string, string>) => support.submit(page, `${page}/propose`, { ...form, ...wrong })
        const refused = yield* propose({ amount: "12,50" })
        expect([refused.status, words(refused)]).toEqual([422, expect.stringContaining("is written as 1,000")])
        for (const kept of ['value="12,50"', 'value="bank-17"', "transfer &quot;17", '<option value="credit" selected'])
          expect(refused.text).toContain(kept)
        for (const wrong of [
          { direction: "" },
          { mode: "" },
          { currency: "XXX" },
          { amount: "0" },
          { external_id: "\u202E" },
          { why: " " }
        ])
          expect((yield* propose(wrong)).status).toBe(422)
        expect(saidBy(yield* propose({}))).toBe("proposed")
        const own = yield* support.read("/proposals")
        expect(words(own)).toContain("Amount: UGX 12,500")
        expect(own.text).not.toMatch(/>Approve</)
        const id = proposalOn(yield* approver.read(page))
        expect((yield* support.submit(page, `/proposals/${id}/approve`)).status).toBe(403)
        expect(saidBy(yield* approver.submit(page, `/proposals/${id}/approve`))).toBe("approved")
        expect((yield* approver.submit(page, `/proposals/${id}/approve`)).status).toBe(409)
        expect((yield* tenant.float)["available_minor"]).toBe(21_500)
        yield* tenant.post("/v1/payouts", momoPayout("0010"))
        const entries = yield* support.read(`${page}/live/UGX`)
        const rows = entries.text
          .split("<tr>")
          .slice(2)
          .map((text) => words({ ...entries, text }))
        expect(rows).toEqual([
          expect.stringMatching(/reserve /),
          expect.stringMatching(/credit bank-17 transfer &quot;17&quot; UGX 12,500 UGX 21,500 UGX 0/),
          expect.stringMatching(/credit given-\w+ given UGX 9,000 UGX 9,000 UGX 0/)
        ])
        expect(entries.text).toContain(`href="${page}/live/UGX/statement.csv"`)
        const csv = yield* support.read(`${page}/live/UGX/statement.csv`)
        expect([csv.status, csv.headers.get("content-type")]).toEqual([200, "text/csv; charset=utf-8; header=present"])
        const lines = csv.text.split("\r\n").slice(1)
        expect(lines.map((line) => line.split(",").slice(2, 6))).toEqual([
          ["credit", expect.stringMatching(/^\w{26}$/), expect.stringMatching(/^given-/), "9000"],
          ["credit", expect.stringMatching(/^\w{26}$/), "bank-17", "12500"],
          ["reserve", expect.stringMatching(/^\w{26}$/), "", "-11000"],
          []
        ])
        expect(csv.text).not.toContain("transfer")
        const none = yield* support.read(`${page}/live/UGX/statement.csv?from=2026-01-01&to=2026-01-31`)
        expect(none.text.split("\r\n").length).toBe(2)
        expect((yield* support.read(`${page}/live/UGX/statement.csv?from=May`)).status).toBe(422)
        expect((yield* support.read(`${page}/sand/UGX/statement.csv`)).status).toBe(404)
        const forged = yield* support.read(`${page}/live/UGX?before=1.${"0".repeat(26)}.1.5.5.${"0".repeat(64)}`)
        expect(forged.headers.get("location")).toBe(`${page}/live/UGX`)
        expect((yield* verified(gateway)).differences).toEqual([])
      })
  )

  // Issue 38, line 9.
  it.effect("has an administrator say who pays for a tenant, masked, and nobody else", () =>
    Effect.gen(function* () {
      const { admin, gateway, support } = yield* Desk
      const { appId } = yield* tenantOn(gateway)
      const page = `/senders/${appId}`
      const form = { name: "Acme Ltd", country: "KE", number: "0711002233", address: "1 Moi Avenue", why: "KYC 17" }
      expect((yield* support.read(page)).text).not.toContain(`${page}/set`)
      expect((yield* support.submit(page, `${page}/set`, form)).status).toBe(403)
      for (const wrong of [{ name: " " }, { country: "kenya" }, { number: "1" }, { address: "" }, { why: "" }])
        expect((yield* admin.submit(page, `${page}/set`, { ...form, ...wrong })).status).toBe(422)
      expect(saidBy(yield* admin.submit(page, `${page}/set`, form))).toBe("sender-set")
      const shown = words(yield* support.read(page))
      expect(shown).toContain("A••• L•• KE ••••2233")
      for (const clear of ["Acme", "711002233", "Moi Avenue"]) expect(shown).not.toContain(clear)
      const [row] = yield* Context.get(gateway.context, AuditLog).list(1)
      expect(row).toMatchObject({
        actor: "console/admin",
        action: "tenant sender",
        subject: appId,
        details: { reason: "KYC 17" }
      })
      expect(JSON.stringify(row?.details)).not.toMatch(/Acme|711002233/)
      expect(saidBy(yield* admin.submit(page, `${page}/remove`, { why: "it moved" }))).toBe("sender-removed")
      expect(words(yield* support.read(page))).toContain("Nobody is named.")
    })
  )

  it.effect("makes a key by two people, whose secrets its proposer sees once and which signs from then on", () =>
    Effect.gen(function* () {
      const { approver, gateway, support } = yield* Desk
      const { appId } = yield* tenantOn(gateway)
      const page = `/keys/${appId}`
      expect((yield* support.submit(page, `${page}/propose`, { mode: "", role: "tenant", why: "new" })).status).toBe(422)
      const form = { mode: "live", role: "tenant", why: "the old one leaks", from: "127.0.0.0/8, ::1" }
      for (const [wrong, problem] of [
        [{ from: "127.0.0.1, 10.0.0.1/8" }, "begins with the first address of its network"],
        [{ from: "the office" }, "the is not accepted; what is accepted is an IP address"],
        [{ label: "x".repeat(65) }, "A label is one line"]
      ] as const) {
        const refused = yield* support.submit(page, `${page}/propose`, { ...form, ...wrong })
        expect(refused.status).toBe(422)
        expect(words(refused)).toContain(problem)
      }
      expect(saidBy(yield* support.submit(page, `${page}/propose`, form))).toBe("proposed")
      expect(words(yield* approver.read(page))).toContain("Used from: 127.0.0.0/8,::1")
      const id = proposalOn(yield* approver.read(page))
      expect((yield* support.submit(page, `/proposals/${id}/issue`)).status).toBe(409)
      expect(saidBy(yield* approver.submit(page, `/proposals/${id}/approve`))).toBe("key-approved")
      expect((yield* approver.submit(page, `/proposals/${id}/issue`)).status).toBe(409)
      expect((yield* support.read(page)).text).toContain("Make the key, and see its secrets once")
      const shown = yield* support.submit(page, `/proposals/${id}/issue`)
      expect([shown.status, shown.headers.get("cache-control")]).toEqual([200, "no-store"])
      const key = JSON.parse(/<pre[^>]*>(.*?)<\/pre>/s.exec(shown.text)?.[1]?.replaceAll("&quot;", '"') ?? "{}")
      const signed = client(gateway, { appId, keyId: key.key_id, apiKey: key.api_key, secret: key.signing_secret })
      expect((yield* signed.get("/v1/float")).status).toBe(200)
      expect(words(yield* support.read(page))).toContain("127.0.0.0/8, ::1")
      expect((yield* support.submit(page, `/proposals/${id}/issue`)).status).toBe(409)
      for (const other of [page, "/proposals", "/audit"])
        for (const secret of [key.api_key, key.signing_secret]) expect((yield* support.read(other)).text).not.toContain(secret)
      const revoke = `${page}/${key.key_id}/revoke`
      expect(saidBy(yield* support.submit(page, revoke, { why: "it was a trial" }))).toBe("proposed")
      const revocation = proposalOn(yield* approver.read(page))
      expect(saidBy(yield* approver.submit(page, `/proposals/${revocation}/approve`))).toBe("approved")
      expect((yield* signed.get("/v1/float")).status).toBe(401)
    })
  )
})
