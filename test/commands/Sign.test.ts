import { createHash, createHmac } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { gateway } from "./Gateway.ts"

const key = { app_id: "acme", key_id: "k_1", api_key: "ak_1", signing_secret: "ss_00ff" }
const BODY = '{"amount_minor":1000,"name":"Zoë/1","metadata":{"order":12345678901234567890}}'
const TARGET = "/v1/payouts?b=x+y&a=%7e"
const URL_CALLED = `http://127.0.0.1:8080${TARGET}`
const NOW = 1_795_000_000
const hashOf = (text: string) => createHash("sha256").update(text).digest("hex")

/** What a client signs: the ten fields, which a test changes where its client is wrong. */
const right = {
  version: "v1",
  appId: "acme",
  keyId: "k_1",
  host: "127.0.0.1:8080",
  method: "POST",
  path: "/v1/payouts",
  query: "a=~&b=x%2By",
  timestamp: String(NOW),
  nonce: "nonce-0123456789abcdef",
  body: hashOf(BODY)
}
const signatureOf = (fields: Partial<typeof right>, secret: string | Buffer = key.signing_secret, separator = "\n") =>
  `v1=${createHmac("sha256", secret)
    .update(Object.values({ ...right, ...fields }).join(separator))
    .digest("hex")}`

const headersWith = (signature: string, more: Readonly<Record<string, string>> = {}) =>
  Object.entries({
    Host: right.host,
    "X-Gateway-Key": "acme.k_1.ak_1",
    "X-Gateway-Timestamp": right.timestamp,
    "X-Gateway-Nonce": right.nonce,
    "X-Gateway-Signature": signature,
    ...more
  })
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n")

/** The command on files of its own. */
const givenFiles = Effect.gen(function* () {
  yield* TestClock.setTime(NOW * 1000)
  const folder = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "payment-gateway-explain-"))),
    (made) => Effect.promise(() => rm(made, { recursive: true }))
  )
  const write = (name: string, text: string) =>
    Effect.as(
      Effect.promise(() => writeFile(join(folder, name), text)),
      join(folder, name)
    )
  const files = ["--key", yield* write("key.json", JSON.stringify(key)), "--body", yield* write("body.json", BODY)]
  const run = (...args: ReadonlyArray<string>) =>
    gateway({}, "sign", "--explain", ...files, ...(args.includes("--url") ? [] : ["--url", URL_CALLED]), ...args)
  /** What is said of a refused request. */
  const differences = Effect.fnUntraced(function* (headers: string, method = "POST") {
    const ran = yield* run("--method", method, "--headers", yield* write("refused.txt", headers), "--json")
    expect(ran).toMatchObject({ code: 0, errors: "" })
    const said = JSON.parse(ran.output)
    expect(said.string_to_sign.split("\n")[5]).toBe("/v1/payouts")
    return said
  })
  return { write, run, differences }
})

const parts = ({ differences }: { readonly differences: ReadonlyArray<{ part: string; detail: string }> }) =>
  differences.map(({ part }) => part)

describe("gateway sign --explain", () => {
  it.effect("prints the string to sign, its fields and the body's hash", () =>
    Effect.gen(function* () {
      const { run } = yield* givenFiles
      const { output } = yield* run("--method", "POST", "--json")
      const said = JSON.parse(output)
      const { "X-Gateway-Nonce": nonce, "X-Gateway-Signature": signature, "X-Gateway-Timestamp": timestamp } = said.headers
      expect(signature).toBe(signatureOf({ nonce, timestamp }))
      expect(said.string_to_sign).toBe(Object.values({ ...right, nonce, timestamp }).join("\n"))
      expect(said.body_sha256).toBe(hashOf(BODY))
      expect(said.fields.map(({ name }: { name: string }) => name)).toContain("body_sha256")
      const people = (yield* run("--method", "POST")).output
      for (const text of ["X-Gateway-Signature: v1=", "ten fields", "query        a=~&b=x%2By", hashOf(BODY)])
        expect(people).toContain(text)
      expect(people).not.toContain(key.signing_secret)
    })
  )

  it.effect.each([
    { how: "typed, and a client's library sends it in lower case", typed: "API.Example:8080", sent: "api.example:8080" },
    { how: "typed, and it is sent so", typed: "API.Example:8080", sent: "API.Example:8080" },
    { how: "sent", typed: "api.example:8080", sent: "Api.Example:8080" }
  ])("names the host's letter case where it was signed as it was $how", ({ sent, typed }) =>
    Effect.gen(function* () {
      const { run, write } = yield* givenFiles
      const signed = typed === "api.example:8080" ? sent : typed
      const headers = yield* write("refused.txt", headersWith(signatureOf({ host: signed }), { Host: sent }))
      const url = ["--url", `http://${typed}${TARGET}`, "--method", "POST"]
      const said = JSON.parse((yield* run(...url, "--headers", headers, "--json")).output)
      const detail = `the host was signed in the letter case in which it was typed, ${signed}; sign it in lower case: api.example:8080`
      expect(said.differences).toEqual([{ part: "host", detail }])
    })
  )

  it.effect("finds each mistake that makes a signature wrong, by its part", () =>
    Effect.gen(function* () {
      const { differences } = yield* givenFiles
      const spaced = '{"amount_minor": 1000, "name": "Zo\\u00eb/1", "metadata": {"order": 12345678901234567890}}'
      const wrong: ReadonlyArray<readonly [part: string, detail: RegExp, signature: string]> = [
        ["host", /without its port/, signatureOf({ host: "127.0.0.1" })],
        ["host", /scheme/, signatureOf({ host: "http://127.0.0.1:8080" })],
        ["method", /as "post"/, signatureOf({ method: "post" })],
        ["method", /as "PUT"/, signatureOf({ method: "PUT" })],
        ["path", /together with the query/, signatureOf({ path: TARGET, query: "" })],
        ["path", /without \/v1/, signatureOf({ path: "/payouts" })],
        ["query", /as it was sent/, signatureOf({ query: "b=x+y&a=%7e" })],
        ["query", /not sorted/, signatureOf({ query: "b=x%2By&a=~" })],
        ["query", /read as a space/, signatureOf({ query: "a=~&b=x%20y" })],
        ["query", /an empty field/, signatureOf({ query: "" })],
        ["body", /with a newline at its end/, signatureOf({ body: hashOf(`${BODY}\n`) })],
        ["body", /space after : and , and with \\u/, signatureOf({ body: hashOf(spaced) })],
        ["body", /escaped slashes/, signatureOf({ body: hashOf(BODY.replace("ë", "\\u00eb").replace("/", "\\/")) })],
        [
          "body",
          /indent of 2/,
          signatureOf({
            body: hashOf(
              `{\n  "amount_minor": 1000,\n  "name": "Zoë/1",\n  "metadata": {\n    "order": 12345678901234567890\n  }\n}`
            )
          })
        ],
        ["body", /hash of the empty string/, signatureOf({ body: hashOf("") })],
        ["body", /itself/, signatureOf({ body: BODY })],
        ["timestamp", /milliseconds were signed/, signatureOf({ timestamp: `${NOW}000` })],
        ["nonce", /no nonce/, signatureOf({ nonce: "" })],
        ["secret", /the api_key/, signatureOf({}, key.api_key)],
        ["secret", /read as hexadecimal/, signatureOf({}, Buffer.from("00ff", "hex"))],
        ["string", /CR LF/, signatureOf({}, key.signing_secret, "\r\n")],
        ["string", /ends with a newline/, signatureOf({ body: `${right.body}\n` })]
      ]
      for (const [part, detail, signature] of wrong) {
        const said = yield* differences(headersWith(signature))
        expect(said).toMatchObject({ signature_right: false, differences: [{ part, detail: expect.stringMatching(detail) }] })
      }
      const two = yield* differences(headersWith(signatureOf({ host: "127.0.0.1", body: hashOf(spaced) })))
      expect(parts(two)).toEqual(["host", "body"])
      const hashed = yield* differences(headersWith(signatureOf({ method: "GET" })), "GET")
      expect(hashed.differences).toMatchObject([{ part: "body", detail: expect.stringMatching(/body of a GET/) }])
    })
  )

  it.effect("says what is wrong with the headers themselves, as curl or a log has them", () =>
    Effect.gen(function* () {
      const { differences } = yield* givenFiles
      const good = headersWith(signatureOf({}))
      const said = (headers: string) => Effect.map(differences(headers), ({ differences }) => differences)
      expect(yield* differences(good)).toMatchObject({ signature_right: true, differences: [] })
      const curl = [`> POST ${TARGET} HTTP/1.1`, ...good.split("\n").map((line) => `> ${line}`), "< HTTP/1.1 401 Unauthorized"]
      expect(yield* said(curl.join("\r\n"))).toEqual([])
      const late = [...curl, `< Date: ${new Date((NOW + 200) * 1000).toUTCString()}`].join("\n")
      expect(yield* said(late)).toMatchObject([
        { part: "timestamp", detail: expect.stringMatching(/200 s old when the gateway/) }
      ])
      const old = String(NOW - 3600)
      expect(yield* said(headersWith(signatureOf({ timestamp: old }), { "X-Gateway-Timestamp": old }))).toMatchObject([
        { part: "timestamp", detail: expect.stringMatching(/3600 s old now/) }
      ])
      const millis = `${NOW}000`
      expect(yield* said(headersWith(signatureOf({ timestamp: millis }), { "X-Gateway-Timestamp": millis }))).toMatchObject([
        { part: "timestamp", detail: expect.stringMatching(/milliseconds/) }
      ])
      expect(yield* said(headersWith(signatureOf({ nonce: "short" }), { "X-Gateway-Nonce": "short" }))).toMatchObject([
        { part: "nonce" }
      ])
      const doubled = `${good}\nx-gateway-nonce: nonce-0123456789abcdef`
      expect(yield* said(doubled)).toMatchObject([{ part: "nonce", detail: expect.stringMatching(/2 times/) }])
      expect(yield* said(good.replace(/^X-Gateway-Timestamp.*\n/m, ""))).toMatchObject([{ part: "timestamp" }])
      expect(yield* said(good.toUpperCase().replace("V1=", "v1="))).toContainEqual(expect.objectContaining({ part: "signature" }))
      const keys = yield* differences(headersWith(signatureOf({}), { "X-Gateway-Key": "acme.k_2.ak_2" }))
      expect(parts(keys)).toEqual(["key", "key", "key"])
      expect(JSON.stringify(keys)).not.toContain("ak_2")
      const host = yield* differences(headersWith(signatureOf({ host: "api.example" }), { Host: "api.example" }))
      expect(host).toMatchObject({ signature_right: true, differences: [{ part: "host" }] })
      const unexplained = yield* differences(headersWith(signatureOf({}, "ss_another")))
      expect(unexplained).toMatchObject({
        signature_right: false,
        differences: [],
        advice: expect.stringMatching(/signing_secret/)
      })
    })
  )
})
