import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { makeRooms } from "../../src/console/Console.ts"
import type { Room } from "../../src/console/Handler.ts"
import type { Route } from "../../src/console/Route.ts"
import type { Fact } from "../../src/domain/Fact.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { may, OperatorName, OperatorRole } from "../../src/domain/Operator.ts"
import { consoleServices } from "../../src/Services.ts"
import { Operators } from "../../src/services/ports/Operators.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { send as sendRaw } from "../support/RawHttp.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { referenceOf } from "../support/SignedClient.ts"
import { type Gateway, Stack, tenantOn } from "../support/Stack.ts"
import { auditEntry } from "../support/TestDatabase.ts"
import { consoleSocket } from "./ConsoleSocket.ts"

const NUMBER = "256772120010"
const MARKUP = `"><script>document.title="owned"</script><img src=x onerror=alert(1)> javascript:alert(1)`
const HOSTILE = `${MARKUP} call +${NUMBER} or 0772 120 010`

/** Every page and every form that the console has, so that a new one is attacked as well. */
const routesOf = ({ context, settings }: Gateway): Effect.Effect<ReadonlyArray<Route>> =>
  makeRooms({ traceUrl: null }).pipe(
    Effect.map((rooms: ReadonlyArray<Room>) => rooms.flatMap(({ routes }) => routes)),
    Effect.provide(consoleServices(settings.console.approvalFrom)),
    Effect.provide(context)
  )

const ABSENT = "0".repeat(26)
const addressOf = ({ path }: Route, reference: string, app: string): string =>
  path
    .replace(":app", app)
    .replace(":reference", reference)
    .replace(":mode", "live")
    .replace(":currency", "UGX")
    .replaceAll(/:\w+/g, ABSENT)

const stack = Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0" })

layer(stack, { timeout: "120 seconds" })("an attacker of the console", (it) => {
  it.effect("gets nothing by any form: not without a session, nor without its token, nor beyond the role", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const { ask, enter, origin } = consoleSocket(gateway)
      const changes = (yield* routesOf(gateway)).filter(({ method }) => method === "POST")
      expect(changes.length).toBeGreaterThan(7)
      for (const role of OperatorRole.literals) {
        const person = yield* enter(`attacker-${role}`, role)
        for (const route of changes) {
          const path = addressOf(route, ABSENT, "nobody")
          const of = (status: number) => [role, path, status]
          expect(of((yield* person.send(path, { form_token: "0".repeat(64) })).status)).toEqual(of(403))
          const { status } = yield* person.send(path)
          expect([...of(status === 403 ? 403 : 0), route.permission]).toEqual([
            ...of(may(role, route.permission) ? 0 : 403),
            route.permission
          ])
          expect(status).toBeLessThan(500)
          // A change is a POST, whatever else a request says of its method.
          const headers = { cookie: person.cookie, "x-http-method-override": "POST" }
          expect(of((yield* ask("GET", `${path}?_method=POST`, { headers })).status)).not.toEqual(of(303))
        }
        // What only looks is no form, but for the search: a number stands in no address.
        expect(changes.filter(({ permission }) => permission === "look").map(({ path }) => path)).toEqual(["/transactions"])
      }
      for (const route of changes) {
        const path = addressOf(route, ABSENT, "nobody")
        const { headers, status } = yield* ask("POST", path, { headers: { origin }, form: {} })
        expect([path, status, headers["location"]]).toEqual([path, 303, "/login"])
      }
    })
  )

  it.effect("is never the second person: not by another session, nor added again, and no form changes what was proposed", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const { enter, logIn, newToken } = consoleSocket(gateway)
      const { appId, float } = yield* tenantOn(gateway, 1n)
      const token = yield* newToken("asha", "approver")
      const [asha, again] = [yield* logIn("asha", token), yield* logIn("asha", token)]
      const biko = yield* enter("biko", "approver")
      const money = { direction: "credit", mode: "live", currency: "UGX", amount: "1,000" }
      const wish = { ...money, external_id: "bank-1", why: "a deposit" }
      expect((yield* asha.send(`/floats/${appId}/propose`, wish)).status).toBe(303)
      const waits = Effect.map(
        biko.read(`/floats/${appId}`),
        ({ text }) => /\/proposals\/[0-9A-Z]{26}\/approve/.exec(text)?.[0] ?? ""
      )
      const approve = yield* waits
      expect([(yield* asha.send(approve)).status, (yield* again.send(approve)).status]).toEqual([409, 409])
      yield* Context.get(gateway.context, Operators).remove(OperatorName.make("asha"), auditEntry())
      expect((yield* again.send(approve)).headers["location"]).toBe("/login")
      const renewed = yield* enter("asha", "admin")
      expect((yield* renewed.send(approve)).status).toBe(409)
      expect([(yield* biko.send(approve)).status, (yield* float)["available_minor"]]).toEqual([409, 1])
      expect((yield* renewed.send(`/floats/${appId}/propose`, wish)).status).toBe(303)
      const next = yield* waits
      const other = { amount: "999,999", amount_minor: "999999", currency: "KES", direction: "debit", id: ABSENT }
      expect((yield* biko.send(next, other)).status).toBe(303)
      expect([(yield* float)["available_minor"], (yield* float)["currency"]]).toEqual([1_001, "UGX"])
      expect((yield* biko.send(next)).status).toBe(409)
      expect((yield* float)["available_minor"]).toBe(1_001)
    })
  )

  it.effect("finds no page that runs what tenants and providers wrote, or that shows a whole number", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const { ask, enter } = consoleSocket(gateway)
      const tenant = yield* tenantOn(gateway)
      const body = { ...momoPayout("0010"), narration: HOSTILE.slice(0, 140), metadata: { [MARKUP.slice(0, 40)]: HOSTILE } }
      const reference = Reference.make(referenceOf(yield* tenant.post("/v1/payouts", body)))
      const odd: Fact = {
        _tag: "Succeeded",
        providerReference: null,
        currency: "UGX",
        fee: null,
        amount: minor(9_999n),
        note: HOSTILE
      }
      yield* Context.get(gateway.context, Settlement).apply({ reference, fact: odd, actor: "callback" })
      yield* tenant.call("PUT", "/v1/webhooks/endpoint", { url: "http://127.0.0.1:9/%22%3E%3Cscript%3Ealert(1)%3C/script%3E" })
      const person = yield* enter("reader", "admin")
      const shown = [
        `/transactions/${reference}/raw`,
        ...(yield* routesOf(gateway)).flatMap((route) =>
          route.method === "GET" ? [addressOf(route, reference, tenant.appId)] : []
        ),
        "/transactions?q=0010",
        `/webhooks?app=${tenant.appId}&mode=live`,
        `/webhooks.csv?app=${tenant.appId}&mode=live`,
        `/transactions?q=${encodeURIComponent(MARKUP)}`,
        `/login?next=${encodeURIComponent(MARKUP)}`,
        `/absent/${encodeURIComponent(MARKUP)}`
      ]
      expect(shown.length).toBeGreaterThan(14)
      const files: Array<string> = []
      for (const path of shown) {
        const { headers, text } = path.endsWith("/raw") ? yield* person.send(path, { reason: HOSTILE }) : yield* person.read(path)
        expect([path, text.replaceAll(/[\s().+-]/g, "").includes("772120010")]).toEqual([path, false])
        // A file for a spreadsheet is never shown as a page; where its tenant is missing, the form is.
        if (String(headers["content-type"]).startsWith("text/csv")) {
          files.push(path)
          expect([headers["content-type"], headers["content-disposition"], headers["x-content-type-options"]]).toEqual([
            "text/csv; charset=utf-8; header=present",
            expect.stringMatching(/^attachment; filename="[\w.-]+"$/),
            "nosniff"
          ])
          continue
        }
        const markup = [...text.matchAll(/<[a-z]+(?:\s[^<>]*)?>/gi)].map(([tag]) => tag)
        const offences = markup.filter((tag) => /\son\w+=|\sstyle=|<(img|iframe|object|embed|base)\b|="javascript:/i.test(tag))
        expect([path, offences, text.match(/<script/g)?.length]).toEqual([path, [], 1])
        expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; (?!.*unsafe).*frame-ancestors 'none'$/)
        expect([headers["cache-control"], headers["x-frame-options"]]).toEqual(["no-store", "DENY"])
      }
      expect(files.length).toBeGreaterThan(7)
      expect((yield* person.read(`/transactions/${reference}`)).text).toContain("&lt;script")
      // Nobody who is not logged in reads any of them.
      for (const path of shown.filter((one) => !/login|raw/.test(one))) expect((yield* ask("GET", path)).status).toBe(303)
    })
  )

  it.effect("breaks no page by what is typed: each odd text has an answer that says what is wrong, or finds nothing", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const { enter } = consoleSocket(gateway)
      const tenant = yield* tenantOn(gateway)
      yield* tenant.post("/v1/payouts", momoPayout("1234"))
      const person = yield* enter("typist", "admin")
      const odd = [
        "\u0000",
        "%",
        "____",
        "' OR '1'='1",
        "__proto__",
        "constructor",
        "\uD83D\uDE00",
        "9".repeat(40),
        "a".repeat(9_000)
      ]
      const fields = ["q", "app", "mode", "status", "amount", "currency", "from", "to", "provider", "review", "said", "kind"]
      for (const place of ["/transactions", "/webhooks", "/callbacks", "/floats", "/"])
        for (const text of odd) {
          const query = new URLSearchParams(fields.map((name) => [name, text]))
          const alone = place === "/transactions" ? fields.map((name) => `${new URLSearchParams({ [name]: text })}`) : []
          for (const asked of [...alone, ...(text.length > 1_000 ? [] : [`${query}`])]) {
            const { status } = yield* person.read(`${place}?${asked}`)
            expect([place, asked.slice(0, 60), status < 500]).toEqual([place, asked.slice(0, 60), true])
          }
        }
      const moments = ["0000-01-01T00:00", "0001-01-01T00:00", "9999-12-31T23:59", "-000001-01-01T00:00Z", "2026-02-30"]
      for (const at of moments)
        for (const name of ["from", "to"])
          expect([at, name, (yield* person.read(`/transactions?${name}=${at}`)).status < 500]).toEqual([at, name, true])
      expect((yield* person.read("/transactions?q=%00")).text).toContain("U+0000")
      // A wildcard is a text like another.
      expect((yield* person.read("/transactions?q=%25%25%25%25")).text).not.toContain(tenant.appId)
      expect((yield* person.read("/?said=constructor")).text).not.toContain('class="notice"')
      expect((yield* person.send("/callbacks/x/close", { reason: "\u0000" })).text).toContain("U+0000")
    })
  )

  it.effect("splits no request and no answer, and finds no file beside the console's own two", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const { ask, enter, port } = consoleSocket(gateway)
      const host = ["Host", `127.0.0.1:${port}`] as const
      const raw = (target: string, headers: ReadonlyArray<readonly [string, string]>, body = "", method = "GET") =>
        Effect.promise(() => sendRaw(port, { method, target, headers, body }))
      const smuggled = [
        [
          ["Content-Length", "5"],
          ["Transfer-Encoding", "chunked"]
        ],
        [
          ["Content-Length", "5"],
          ["Content-Length", "6"]
        ],
        [["Transfer-Encoding", "chunked, identity"]],
        [["Transfer-Encoding", "xchunked"]]
      ] as const
      for (const headers of smuggled) {
        const form = ["Content-Type", "application/x-www-form-urlencoded"] as const
        const { status } = yield* raw("/login", [host, form, ["Sec-Fetch-Site", "same-origin"], ...headers], "0\r\n\r\n", "POST")
        expect([headers, status]).toEqual([headers, 400])
      }
      expect((yield* raw("/login", [["Host", "evil.example"], host])).status).toBe(421)
      expect((yield* raw("http://evil.example/login", [["Host", "evil.example"]])).status).toBe(421)
      for (const path of [
        "/../../etc/passwd",
        "/console.css/../../package.json",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/console.css%00",
        "/.env"
      ])
        expect([path, (yield* raw(path, [host])).status]).toEqual([path, 303])
      const person = yield* enter("splitter", "viewer")
      for (const path of [
        "//evil.example/",
        "/\\evil.example",
        "/transactions/%2e%2e%2f",
        "/floats/..%2f..",
        "/floats/__proto__"
      ])
        expect([path, (yield* person.read(path)).status]).toEqual([path, 404])
      for (const next of [
        "//evil.example",
        "/\\evil.example",
        "/\r\nSet-Cookie: a=b",
        "https://evil.example",
        "/\t/evil.example"
      ]) {
        const { headers, text } = yield* ask("GET", `/login?next=${encodeURIComponent(next)}`)
        expect([text.includes('name="next" value="/"'), headers["set-cookie"]]).toEqual([true, undefined])
      }
    })
  )
})
