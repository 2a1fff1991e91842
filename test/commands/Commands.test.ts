import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { functionFiles } from "../../src/persistence/schema/FunctionFiles.ts"
import { Migrations } from "../../src/persistence/schema/Migrations.ts"
import { freshDatabase } from "../support/Postgres.ts"
import { gateway, givenUrl, installedOn } from "./Gateway.ts"

const installed = (url: string) => {
  const variables = installedOn(url)
  const run = (...args: ReadonlyArray<string>) => gateway(variables, ...args)
  const result = (...args: ReadonlyArray<string>) =>
    Effect.map(run(...args, "--json"), ({ code, errors, output }) => {
      expect({ code, errors }).toEqual({ code: 0, errors: "" })
      return JSON.parse(output)
    })
  return { run, result, variables }
}
const installation = Effect.map(givenUrl, installed)

const creditOf = (externalId: string) => [...credit("", "5").slice(0, -3), externalId, "--note", "twice"]
const credit = (externalId: string, amount: string) =>
  `float credit acme --mode live --currency KES --amount-minor ${amount} --external-id ${externalId} --note opening`.split(" ")

describe("the operators' commands", () => {
  it.effect("print help on request, and exit 2 with the reason on standard error for wrong usage", () =>
    Effect.gen(function* () {
      for (const args of [[], ["tenant"], ["float", "credit"], ["sign"], ["corridor", "set"]]) {
        const help = yield* gateway({}, ...args, "--help")
        expect(help).toMatchObject({ code: 0, errors: "" })
        expect(help.output).toContain("--json")
      }
      for (const args of [
        [],
        ["tenant"],
        ["bogus"],
        ["bogus", "--help"],
        ["--json", "tenant", "bogus", "-h"],
        ["tenant", "create"],
        ["tenant", "create", "ACME"],
        ["tenant", "list", "--bogus"]
      ]) {
        const wrong = yield* gateway({}, ...args, "--json")
        expect(wrong).toMatchObject({ code: 2, output: "" })
        expect(wrong.errors).not.toBe("")
      }
      const amounts = ["0", "-1", "1.5", "1e3", "9007199254740992"]
      for (const amount of amounts) expect(yield* gateway({}, ...credit("e", amount))).toMatchObject({ code: 2, output: "" })
    })
  )

  it.effect("refuse the workers of an earlier release, and say what is done instead", () =>
    Effect.gen(function* () {
      const refused = yield* gateway({}, "serve", "--workers", "4")
      expect(refused).toMatchObject({ code: 2, output: "" })
      const [flag, instead] = refused.errors.split("\n")
      expect(flag).toContain("--workers")
      const [, heading = ""] =
        /^a gateway is one process: run several behind HAProxy \(docs\/operations\/machines\.md, (.+)\)$/.exec(instead ?? "") ??
        []
      expect(readFileSync("docs/operations/machines.md", "utf8")).toContain(`\n## ${heading}\n`)
    })
  )

  it.effect("refuse broken settings with every mistake, and exit 1", () =>
    Effect.gen(function* () {
      const refused = yield* gateway({ PORT: "abc", LOG_LEVEL: "loud" }, "tenant", "list", "--json")
      expect(refused).toMatchObject({ code: 1, output: "" })
      expect(refused.errors.split("\n").map((line) => line.split(" ", 1)[0])).toEqual(["PORT", "LOG_LEVEL"])
    })
  )

  it.effect("report in one line that the database cannot be reached", () =>
    Effect.gen(function* () {
      const refused = yield* gateway(installedOn("postgres://nobody:pw-secret@127.0.0.1:1/none"), "tenant", "list")
      expect(refused).toMatchObject({ code: 1, output: "" })
      expect(refused.errors).toMatch(/^[^\n]*database[^\n]*$/)
      expect(refused.errors).not.toContain("pw-secret")
    })
  )

  it.effect("serve no tenant in production from a database of the gateway's own, which an empty setting would make", () =>
    Effect.gen(function* () {
      const served = (variables: Readonly<Record<string, string>>) =>
        gateway({ DATA_DIR: "/dev/null/nowhere", DATABASE_URL: " ", ...variables }, "serve")
      expect(yield* served({ NODE_ENV: "production" })).toEqual({
        code: 1,
        output: "",
        errors:
          "NODE_ENV is production, and DATABASE_URL is not set or empty: the gateway would serve from a new, empty database of its own"
      })
      expect((yield* served({})).errors).toContain("cannot make the data folder /dev/null/nowhere")
    })
  )

  it.effect("report as unreachable, and never as none, what could not be asked", () =>
    Effect.gen(function* () {
      const unreachable = installedOn("postgres://nobody:pw-secret@127.0.0.1:1/none")
      const { code, errors, output } = yield* gateway({ ...unreachable, MANAGEMENT_PORT: "1" }, "status", "--json")
      const { at: _, needs_attention: attention, node_here: node, ...rest } = JSON.parse(output)
      expect({ code, errors }).toEqual({ code: 1, errors: attention[0] })
      expect(attention).toHaveLength(2)
      expect(node).toMatchObject({ readyz: "unreachable", circuits_open: "unreachable" })
      expect(new Set(Object.values(rest))).toEqual(new Set(["unreachable"]))
      expect(output).not.toContain("pw-secret")
    })
  )

  it.effect("make a tenant, its keys and its float", () =>
    Effect.gen(function* () {
      const { result, run } = installed((yield* Effect.promise(() => freshDatabase())).url)
      const acme = {
        app_id: "acme",
        status: "active",
        capabilities: ["collections", "payouts", "fx", "reference_data", "bank_resolution"]
      }
      expect(yield* result("migrate")).toEqual({
        applied: [...Migrations.all.map(({ name }) => name), ...functionFiles.map(({ name }) => `functions/${name}`)]
      })
      expect(yield* result("migrate")).toEqual({ applied: [] })
      expect(yield* result("tenant", "create", "acme")).toEqual(acme)
      expect(yield* run("tenant", "create", "acme", "--json")).toEqual({
        code: 1,
        output: "",
        errors: "the tenant acme exists already: choose another name"
      })
      expect(yield* result("tenant", "list")).toEqual([{ ...acme, pinned_provider: null, repeat_sales: "refuse" }])

      const key = yield* result("key", "issue", "acme", "--mode", "live")
      expect(key).toEqual({
        app_id: "acme",
        key_id: expect.stringMatching(/^k_[0-9A-Z]{12}$/),
        api_key: expect.stringMatching(/^ak_[0-9a-f]{32}$/),
        signing_secret: expect.stringMatching(/^ss_[0-9a-f]{64}$/),
        mode: "live",
        role: "tenant"
      })
      expect(yield* run("key", "issue", "nobody", "--mode", "test")).toMatchObject({
        code: 1,
        errors: "there is no tenant nobody: gateway tenant list shows all of them"
      })
      expect(yield* result("key", "revoke", "acme", key.key_id)).toEqual({ revoked: true })
      expect(yield* run("key", "revoke", "acme", key.key_id)).toMatchObject({ code: 1, output: "" })

      const position = {
        currency: "KES",
        available_minor: 10_050,
        reserved_minor: 0,
        collected_minor: 0,
        paid_out_minor: 0,
        provider_fees_minor: 0,
        credited_minor: 10_050,
        debited_minor: 0,
        fx_in_minor: 0,
        fx_out_minor: 0,
        returned_minor: 0,
        owed_minor: 0
      }
      expect(yield* result(...credit("e-1", "10050"))).toEqual(position)
      expect(yield* result(...credit("e-1", "10050"))).toEqual(position)
      expect(yield* run(...credit("e-1", "10051"))).toMatchObject({ code: 1, output: "" })
      // Each looks like an id that posts elsewhere: with a no-break space, a zero-width one, and a reference in small letters.
      for (const lookalike of ["e\u00a01", "e-1\u200b", "aaa688mg9kt6bq76f4nm4bjrh5"])
        expect(yield* run(...creditOf(lookalike))).toMatchObject({
          code: 1,
          errors: expect.stringMatching(/external id .*(cannot be seen|AAA688MG9KT6BQ76F4NM4BJRH5)/)
        })
      expect(yield* result("float", "list", "acme", "--mode", "live")).toEqual([position])
      expect(yield* result("float", "list", "acme", "--mode", "test")).toEqual([])
      expect((yield* run("float", "list", "acme", "--mode", "live")).output).toContain("KES 100.50 (10050 minor)")
      const short = ["float", "debit", "acme", "--mode", "live", "--currency", "KES"]
      expect(yield* run(...short, "--amount-minor", "10051", "--external-id", "e-2", "--note", "n")).toMatchObject({
        code: 1,
        errors: "only KES 100.50 (10050 minor) is available"
      })
      expect(yield* run("transaction", "show", "NOPE", "--json")).toMatchObject({ code: 1, output: "" })
      expect((yield* result("ledger", "verify")).ok).toBe(true)
    })
  )

  it.effect("change only the named fields of a corridor row", () =>
    Effect.gen(function* () {
      const { result, run } = yield* installation
      const row = ["UG", "UGX", "payout", "momo"]
      const rows: ReadonlyArray<Record<string, unknown>> = yield* result("corridor", "list")
      const before = rows.find(({ country, direction, method }) => `${country} ${direction} ${method}` === "UG payout momo")
      const after = yield* result("corridor", "set", ...row, "--active", "false", "--minimum-minor", "700")
      expect({ ...after, updated_at: "" }).toEqual({
        ...before,
        active: false,
        minimum_minor: 700,
        inactive_reason: "switched off by an operator",
        updated_at: "",
        warnings: ["eversend has no account in the settings", "airtel has no account in the settings"]
      })
      const { warnings: _, ...kept } = after
      expect(yield* result("corridor", "list")).toContainEqual(kept)
      expect(yield* run("corridor", "set", "ZZ", "USD", "payout", "bank", "--active", "true")).toMatchObject({
        code: 1,
        errors: "there is no such corridor yet: add it with --provider"
      })
      const crossed = ["--minimum-minor", "9", "--maximum-minor", "8"]
      expect(yield* run("corridor", "set", ...row, ...crossed)).toMatchObject({ code: 1, output: "" })
    })
  )

  it.effect("set a webhook endpoint, at a public address only unless loopback is allowed", () =>
    Effect.gen(function* () {
      const { result, run, variables } = yield* installation
      yield* result("tenant", "create", "acme")
      const endpoint = ["webhook", "endpoint", "acme", "--mode", "live", "--url"]
      expect(yield* result(...endpoint, "https://acme.example/hooks")).toEqual({
        url: "https://acme.example/hooks",
        secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/)
      })
      expect(yield* run(...endpoint, "http://127.0.0.1:9/hooks")).toMatchObject({ code: 1, output: "" })
      const development = { WEBHOOK_ALLOW_LOOPBACK: "true", ALLOW_SIMULATOR: "true" }
      const allowed = yield* gateway({ ...variables, ...development }, ...endpoint, "http://127.0.0.1:9/hooks")
      expect(allowed.code).toBe(0)
    })
  )

  it.effect("sign a request as the contract's signing vectors do", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "payment-gateway-sign-"))),
        (made) => Effect.promise(() => rm(made, { recursive: true }))
      )
      const key = { app_id: "acme", key_id: "k_1", api_key: "ak_1", signing_secret: "ss_1" }
      yield* Effect.promise(() => writeFile(join(folder, "key.json"), JSON.stringify(key)))
      yield* Effect.promise(() => writeFile(join(folder, "body.json"), "{}"))
      const url = "http://API.example:80/v1/a%20b?z=1&a=%7E"
      const args = [
        "sign",
        "--method",
        "post",
        "--url",
        url,
        "--body",
        join(folder, "body.json"),
        "--key",
        join(folder, "key.json")
      ]
      const signed = yield* gateway({}, ...args, "--json")
      expect(signed).toMatchObject({ code: 0, errors: "" })
      const headers = JSON.parse(signed.output)
      const digest = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
      const { "X-Gateway-Nonce": nonce, "X-Gateway-Timestamp": timestamp } = headers
      const text = ["v1", "acme", "k_1", "api.example", "POST", "/v1/a%20b", "a=~&z=1", timestamp, nonce, digest].join("\n")
      expect(headers).toEqual({
        "X-Gateway-Key": "acme.k_1.ak_1",
        "X-Gateway-Timestamp": expect.stringMatching(/^\d+$/),
        "X-Gateway-Nonce": expect.stringMatching(/^[A-Za-z0-9_-]{16,64}$/),
        "X-Gateway-Signature": `v1=${createHmac("sha256", "ss_1").update(text).digest("hex")}`
      })
      expect((yield* gateway({}, ...args)).output.split("\n").map((line) => line.split(": ", 1)[0])).toEqual(Object.keys(headers))
      expect(yield* gateway({}, "sign", "--method", "GET", "--url", "nowhere", "--key", join(folder, "key.json"))).toMatchObject({
        code: 1,
        errors: "nowhere is not an http or https address"
      })
      expect(yield* gateway({}, "sign", "--method", "GET", "--url", url, "--key", join(folder, "none"))).toMatchObject({
        code: 1
      })
    })
  )
})
