import { describe, expect, it, layer } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { h } from "preact"
import { page, type Route, redirect } from "../../src/console/Route.ts"
import { iso } from "../../src/domain/Instant.ts"
import { may, OperatorName, OperatorRole, type Permission } from "../../src/domain/Operator.ts"
import { AuditLog } from "../../src/services/ports/AuditLog.ts"
import { Operators } from "../../src/services/ports/Operators.ts"
import { forgedChange } from "../support/ForgedChange.ts"
import { auditEntry } from "../support/TestDatabase.ts"
import { access, consoleOn, HOST, operatorOn } from "./ConsoleClient.ts"

const HOSTILE = `<script>alert(1)</script> "quoted" 'and' \u202Ereversed ${"long".repeat(2_500)}`
const routes: ReadonlyArray<Route> = [
  { method: "GET", path: "/", permission: "look", answer: ({ visitor }) => Effect.succeed(page("Home", `for ${visitor.name}`)) },
  {
    method: "GET",
    path: "/hostile",
    permission: "look",
    answer: () => Effect.succeed(page(HOSTILE, h("p", { title: HOSTILE }, HOSTILE)))
  },
  { method: "GET", path: "/broken", permission: "look", answer: () => Effect.die(new Error("the secret reason")) },
  ...(["raw", "resolve", "redeliver", "propose", "approve", "configure"] as const).map(
    (permission: Permission): Route => ({
      method: "POST",
      path: `/${permission}`,
      permission,
      answer: () => Effect.succeed(redirect("/"))
    })
  )
]
const theConsole = consoleOn([{ place: { to: "/", name: "Home" }, routes }])

layer(access)("the console's door", (it) => {
  it.effect("shows nothing but the log-in to whoever is not logged in, and leads back after it", () =>
    Effect.gen(function* () {
      const { browser } = yield* theConsole
      const person = browser()
      const first = yield* person.read("/hostile?x=1")
      expect([first.status, first.headers.get("location")]).toEqual([303, "/login?next=%2Fhostile%3Fx%3D1"])
      const wayBack = (path: string) => Effect.map(person.read(path), ({ headers }) => headers.get("location"))
      expect(yield* wayBack("/transactions?q=4111%201111%201111%201111")).toBe("/login?next=%2Ftransactions")
      for (const number of ["app=shop-7&subject=%2B256772123456", "subject=+256772123456", "a=1&a=0772-123-456", "256772123456"])
        expect([number, yield* wayBack(`/audit?${number}`)]).toEqual([number, "/login?next=%2Faudit"])
      const amounts = "/transactions?currency=UGX&least=1000000&most=2500000&from=2026-11-30T12%3A00"
      expect(yield* wayBack(amounts)).toBe(`/login?next=${encodeURIComponent(amounts)}`)
      expect((yield* person.read("/login?next=%2Fhostile")).text).toContain('name="next" value="/hostile"')
      expect((yield* person.read("/login?next=%2F%2Fevil.example")).text).toContain('name="next" value="/"')
      expect((yield* person.ask("POST", "/approve", { form: {}, headers: { "sec-fetch-site": "same-origin" } })).status).toBe(303)
    })
  )

  it.effect(
    "gives a session that scripts and other sites cannot use, another one at each log-in, and ends it on the server",
    () =>
      Effect.gen(function* () {
        const { browser, send } = yield* theConsole
        const token = yield* operatorOn("asha", "viewer")
        const person = browser()
        const entered = yield* person.logIn("asha", token)
        expect([entered.status, entered.headers.get("location")]).toEqual([303, "/"])
        expect(entered.headers.get("set-cookie")).toMatch(
          /^console_session=asha:\d+:[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict$/
        )
        expect((yield* person.read("/")).text).toContain("for asha")
        const before = person.cookie()
        yield* person.logIn("asha", token)
        expect(person.cookie()).not.toBe(before)
        expect((yield* send("GET", "/", { headers: { cookie: before } })).status).toBe(303)
        const last = person.cookie()
        expect((yield* person.submit("/", "/logout")).headers.get("location")).toBe("/login?said=logged-out")
        expect((yield* send("GET", "/", { headers: { cookie: last } })).status).toBe(303)
        const rows = yield* (yield* AuditLog).list(10)
        expect(rows.filter(({ actor }) => actor === "console/asha").map(({ action }) => action)).toEqual([
          "console log-out",
          "console log-in",
          "console log-in"
        ])
      })
  )

  it.effect(
    "ends a session half an hour after its last use, however often its page refreshes itself, and after twelve hours",
    () =>
      Effect.gen(function* () {
        const { browser } = yield* theConsole
        const token = yield* operatorOn("idle", "viewer")
        const person = browser()
        yield* person.logIn("idle", token)
        yield* TestClock.adjust("29 minutes")
        expect((yield* person.read("/", { "x-console-refresh": "1" })).status).toBe(200)
        yield* TestClock.adjust("2 minutes")
        expect((yield* person.read("/")).status).toBe(303)
        yield* person.logIn("idle", token)
        for (let hours = 0; hours < 24; hours++) {
          expect((yield* person.read("/")).status).toBe(200)
          yield* TestClock.adjust("1799 seconds")
        }
        yield* TestClock.adjust("25 seconds")
        expect((yield* person.read("/")).status).toBe(303)
      })
  )

  it.effect("gives nobody another name by a session whose row somebody with the gateway's own role gave it", () =>
    Effect.gen(function* () {
      const { browser } = yield* theConsole
      const sql = yield* SqlClient.SqlClient
      const person = browser()
      yield* operatorOn("boss", "admin")
      yield* person.logIn("clerk", yield* operatorOn("clerk", "viewer"))
      expect((yield* person.read("/")).text).toContain("for clerk")
      yield* sql`UPDATE console_sessions SET operator = 'boss' WHERE operator = 'clerk'`
      expect((yield* person.read("/")).status).toBe(303)
    })
  )

  it.effect("gives nobody another role by an operator's row that no gateway wrote, and outlives no account", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const person = (yield* theConsole).browser()
      yield* person.logIn("temp", yield* operatorOn("temp", "viewer"))
      yield* sql`CREATE TEMP TABLE kept AS SELECT * FROM console_sessions WHERE operator = 'temp'`
      yield* forgedChange(sql, "operator remove", { name: "temp" })
      const made = iso(yield* Clock.currentTimeMillis)
      const admin = { name: "temp", role: "admin", created_at: made, access_seal: "", token_hash: "5".repeat(32) }
      yield* forgedChange(sql, "operator add", admin)
      yield* sql`INSERT INTO console_sessions SELECT * FROM kept`
      expect((yield* person.read("/")).status).toBe(303)
      yield* (yield* Operators).remove(OperatorName.make("temp"), auditEntry())
      yield* TestClock.adjust("1 second")
      yield* operatorOn("temp", "admin")
      yield* sql`INSERT INTO console_sessions SELECT * FROM kept`
      expect((yield* person.read("/")).status).toBe(303)
    })
  )

  it.effect(
    "is over at once for an operator who is removed, and gives nothing of an earlier role to one who is added again",
    () =>
      Effect.gen(function* () {
        const { browser } = yield* theConsole
        const person = browser()
        const first = yield* operatorOn("demoted", "approver")
        yield* person.logIn("demoted", first)
        const approval = () => person.submit("/", "/approve")
        expect((yield* approval()).headers.get("location")).toBe("/")
        yield* (yield* Operators).remove(OperatorName.make("demoted"), auditEntry())
        const form_token = "0".repeat(64)
        const old = { form: { form_token }, headers: { "sec-fetch-site": "same-origin", cookie: person.cookie() } }
        expect((yield* person.ask("POST", "/approve", old)).headers.get("location")).toBe("/login")
        const token = yield* operatorOn("demoted", "support")
        expect((yield* person.ask("POST", "/approve", old)).headers.get("location")).toBe("/login")
        expect((yield* person.logIn("demoted", first)).status).toBe(401)
        yield* person.logIn("demoted", token)
        expect((yield* approval()).status).toBe(403)
      })
  )

  it.effect("takes a form only from its own pages, and with the token of the same session", () =>
    Effect.gen(function* () {
      const { browser } = yield* theConsole
      const token = yield* operatorOn("forms", "admin")
      const [person, other] = [browser(), browser()]
      yield* person.logIn("forms", token)
      yield* other.logIn("forms", token)
      const own = /name="form_token" value="([0-9a-f]+)"/.exec((yield* person.read("/")).text)?.[1] ?? ""
      const send = (headers: Readonly<Record<string, string>>, form_token = own, from = person) =>
        Effect.map(from.ask("POST", "/approve", { headers, form: { form_token } }), ({ status }) => status)
      expect(yield* send({ "sec-fetch-site": "same-origin" })).toBe(303)
      expect(yield* send({ origin: `http://${HOST}` })).toBe(303)
      expect(yield* send({})).toBe(403)
      expect(yield* send({ "sec-fetch-site": "cross-site" })).toBe(403)
      expect(yield* send({ "sec-fetch-site": "same-site" })).toBe(403)
      expect(yield* send({ origin: "http://evil.example" })).toBe(403)
      expect(yield* send({ origin: "null" })).toBe(403)
      expect(yield* send({ origin: "null", "sec-fetch-site": "same-origin" })).toBe(303)
      expect(yield* send({ origin: "null", "sec-fetch-site": "cross-site" })).toBe(403)
      expect(yield* send({ origin: "http://evil.example", "sec-fetch-site": "same-origin" })).toBe(403)
      expect(yield* send({ "sec-fetch-site": "same-origin" }, "")).toBe(403)
      expect(yield* send({ "sec-fetch-site": "same-origin" }, own, other)).toBe(403)
      const large = yield* person.ask("POST", "/approve", {
        headers: { "sec-fetch-site": "same-origin" },
        form: { x: "a".repeat(70_000) }
      })
      expect(large.status).toBe(413)
      const json = { "sec-fetch-site": "same-origin", "content-type": "application/json" }
      expect((yield* person.ask("POST", "/approve", { headers: json, form: {} })).status).toBe(415)
      expect((yield* person.ask("PUT", "/", {})).status).toBe(405)
    })
  )

  it.effect("answers under no name that is not its own, so that no other site's DNS leads to it", () =>
    Effect.gen(function* () {
      const { browser } = yield* theConsole
      for (const host of ["localhost:8082", "[::1]:8082", "127.0.0.1"])
        expect((yield* browser().read("/login", { host })).status).toBe(200)
      for (const host of ["evil.example:8082", "127.0.0.1.evil.example", ""])
        expect((yield* browser().read("/login", { host })).status).toBe(421)
      const behind = yield* consoleOn([{ place: null, routes }], { host: "0.0.0.0", url: "https://console.example" })
      const token = yield* operatorOn("proxied", "viewer")
      const headers = { host: "console.example", origin: "https://console.example" }
      const entered = yield* behind.send("POST", "/login", { headers, form: { name: "proxied", token } })
      expect(entered.headers.get("set-cookie")).toMatch(/^__Host-console_session=.*; HttpOnly; SameSite=Strict; Secure$/)
    })
  )

  it.effect("does for a role what the table of roles says, whatever the page showed", () =>
    Effect.gen(function* () {
      const { browser } = yield* theConsole
      for (const role of OperatorRole.literals) {
        const person = browser()
        yield* person.logIn(`role-${role}`, yield* operatorOn(`role-${role}`, role))
        for (const { method, path, permission } of routes.filter(({ method }) => method === "POST")) {
          const { status } = yield* person.submit("/", path)
          expect([role, method, permission, status]).toEqual([role, "POST", permission, may(role, permission) ? 303 : 403])
        }
      }
    })
  )

  it.effect("shows hostile text as text, loads nothing from elsewhere, and says nothing of a fault", () =>
    Effect.gen(function* () {
      const { browser } = yield* theConsole
      const person = browser()
      yield* person.logIn("text", yield* operatorOn("text", "viewer"))
      const { headers, text } = yield* person.read("/hostile")
      expect(text).not.toContain("<script>alert")
      expect(text.match(/<script/g)).toHaveLength(1)
      expect(text.match(/(?:src|href|action)="[^"]*"/g)).toSatisfy((all: ReadonlyArray<string>) =>
        all.every((one) => /="(\/|#|data:,)/.test(one))
      )
      expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; .*form-action 'self'; frame-ancestors 'none'$/)
      expect(headers.get("content-security-policy")).not.toContain("unsafe")
      expect([headers.get("cache-control"), headers.get("referrer-policy"), headers.get("x-content-type-options")]).toEqual([
        "no-store",
        "no-referrer",
        "nosniff"
      ])
      const broken = yield* person.read("/broken")
      expect(broken.status).toBe(500)
      expect(broken.text).not.toContain("secret reason")
      expect((yield* person.read("/absent")).status).toBe(404)
    })
  )
})

describe("roles", () => {
  it("each may do what the one before may, and nobody but an administrator changes the configuration", () => {
    const all = ["look", "raw", "resolve", "redeliver", "propose", "approve", "configure"] as const
    const granted = OperatorRole.literals.map((role) => all.filter((permission) => may(role, permission)).length)
    expect(granted).toEqual([1, 5, 6, 7])
    expect(OperatorRole.literals.filter((role) => may(role, "configure"))).toEqual(["admin"])
  })
})
