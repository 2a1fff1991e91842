import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { csvReader } from "../../../src/providers/Csv.ts"
import { LARGEST_BODY_BYTES } from "../../../src/providers/PlainBody.ts"
import { markets } from "../../../src/providers/pawapay/Networks.ts"
import { FILE_HOSTS, isFileAddress } from "../../../src/providers/pawapay/Statement.ts"
import { statementRows } from "../../../src/providers/pawapay/StatementRows.ts"
import { answer, type Behaviour, halfAnswer, stub } from "../ProviderStub.ts"
import { open } from "./Orders.ts"

const HEADER = "Creation Date,MSISDN,Transaction ID,Amount,Currency,Country,MNO,Type,Balance,Reason,Metadata"
const DAY = "2026-11-27"

const row = (
  type: string,
  id: string,
  amount: string,
  change: { readonly at?: string; readonly currency?: string; readonly reason?: string; readonly metadata?: string } = {}
) => {
  const { at = `${DAY}T10:00:00Z`, currency = "UGX", metadata = '{"order":"7, 8"}', reason = "" } = change
  const written = `"${metadata.replaceAll('"', '""')}"`
  return `${at},256772123456,${id},${amount},${currency},UGA,MTN_MOMO_UGA,${type},0,${reason},${written}`
}
const file = (...rows: ReadonlyArray<string>) => [HEADER, ...rows, ""].join("\r\n")

const read = (text: string) => {
  const rows = statementRows("the statement")
  const csv = csvReader(rows.read)
  // One character at a time: a piece may end anywhere.
  for (const character of text) csv.read(character)
  return { isWhole: csv.end(), lines: rows.lines(), unreadable: rows.unreadable(), without: rows.without() }
}

describe("a file of pawaPay's", () => {
  it("is one line a payment: what moved, its fees, and that it came back, in whatever order", () => {
    const { isWhole, lines, unreadable } = read(
      file(
        row("pawaPay payout fee", "p1", "-59.4"),
        row("Failed payout refund", "p2", "5000"),
        row("Payout", "p1", "-10000"),
        row("Payout pass-through fee", "p1", "-40.2"),
        row("Payout", "p2", "-5000"),
        row("DEPOSIT", "d1", "123.45", { currency: "KES", at: `${DAY} 23:59:59.500` }),
        row("DEPOSIT_PASS_THROUGH_FEE", "d1", "1.5", { currency: "KES" }),
        row("Refund", "r1", "-100"),
        row("Compensation", "", "-7"),
        row("Top up", "", "1000000"),
        row("Withdrawal", "", "-1000000")
      )
    )
    expect([isWhole, unreadable]).toStrictEqual([true, []])
    const told = lines.map(({ amount, direction, fee, providerReference, status }) => [
      direction,
      providerReference,
      status,
      amount,
      fee
    ])
    expect(told).toStrictEqual([
      ["payout", "p1", "debited", 10_000n, 100n],
      ["payout", "p2", "failed", 5000n, null],
      ["collection", "d1", "credited", 12_345n, 150n],
      ["payout", "r1", "debited", 100n, null],
      ["payout", `the statement, Compensation of ${DAY}T10:00:00Z`, "successful", 7n, null]
    ])
    expect(lines[2]?.at).toBe(Date.parse(`${DAY}T23:59:59.500Z`))
  })

  it("keeps all by which a refund may name its deposit: its number, its reason, and its metadata (38)", () => {
    const [deposit, other] = ["0f3a8e0e-58c7-4a57-8a0a-5a1df0a2b3c4", "8a9c8e0e-58c7-4a57-8a0a-5a1df0a2b3c4"]
    const reference = "01JD0000000000000000000001"
    const { lines } = read(
      file(
        row("Refund", deposit, "-100"),
        row("Refund", "r2", "-100", { metadata: `{"deposit":"${other}","note":"256772123456"}` }),
        row("Refund", "r3", "-100", { reason: `refund of ${reference}` }),
        row("Failed refund reversal", "r3", "100", { at: `${DAY}T11:00:00Z` }),
        row("Payout", "p1", "-100", { reason: reference })
      )
    )
    expect(lines.map(({ providerReference, refundOf, status }) => [providerReference, status, refundOf])).toStrictEqual([
      [deposit, "debited", [deposit]],
      ["r2", "debited", ["r2", other]],
      ["r3", "failed", ["r3", reference]],
      ["p1", "debited", undefined]
    ])
  })

  it("has its columns by their names, wherever they stand, and a payment twice where its money moved twice", () => {
    const { lines } = read(
      [
        '\uFEFFtype,"amount",CURRENCY,creation_date,transactionId',
        `Payout,-1,UGX,${DAY}T10:00:00Z,p1`,
        `Payout,-1,UGX,${DAY}T10:00:01Z,p1`
      ]
        .join("\n")
        .replace("\uFEFF", "")
    )
    expect(lines.map(({ providerReference, status }) => [providerReference, status])).toStrictEqual([
      ["p1", "debited"],
      ["p1", "debited"]
    ])
  })

  it("says which of the columns it does not have, and which there are", () => {
    const { lines, without } = read(`Creation Date,MSISDN,Reference,Amount,Currency\n${DAY}T10:00:00Z,256772123456,p1,1,UGX\n`)
    expect(without).toStrictEqual({
      missing: ["Transaction ID", "Type"],
      there: ["Creation Date", "MSISDN", "Reference", "Amount", "Currency"]
    })
    expect(lines).toStrictEqual([])
  })

  it("names each row that cannot be read, and nobody in it, and the others stand", () => {
    const { lines, unreadable } = read(
      file(
        row("Payout", "p1", "-10000"),
        row("Split payout", "p2", "-1"),
        row("Payout", "p3", "ten"),
        row("pawaPay payout fee", "p3", "-1"),
        row("Payout", "p4", "-1", { at: "27/11/2026 10:00" }),
        row("Payout", "p5", "-1", { currency: "" }),
        row("Payout", "", "-1"),
        row("pawaPay payout fee", "p6", "-1"),
        "7"
      )
    )
    expect(lines.map(({ providerReference }) => providerReference)).toStrictEqual(["p1"])
    const words = unreadable.map(({ place, providerReference, word }) => [place.replace(/.*row /, ""), providerReference, word])
    expect(words).toStrictEqual([
      ["2", "p2", expect.stringContaining('"Type"')],
      ["3", "p3", expect.stringContaining('"Amount"')],
      ["5", "p4", expect.stringContaining('"Creation Date"')],
      ["6", "p5", expect.stringContaining('"Currency"')],
      ["7", null, expect.stringContaining('"Transaction ID"')],
      ["9", null, expect.stringContaining('"Type"')],
      ["8", "p6", "a fee without its payment"]
    ])
    expect(JSON.stringify(words)).not.toContain("256772123456")
  })

  it("is none where a value in it never ends", () => {
    expect(read(`${HEADER}\n${DAY},"256`).isWhole).toBe(false)
    expect(read(`${HEADER}\n"${"x".repeat(70_000)}"\n`).isWhole).toBe(false)
  })
})

describe("the address of a file", () => {
  const live = { baseUrl: "https://api.pawapay.io/v2", statementHosts: FILE_HOSTS }
  it("is pawaPay's own, over https, and the simulator's only beside the simulator (38)", () => {
    const good = ["https://api.pawapay.io/f", "https://pawapay.io/f"]
    expect(good.filter((url) => !isFileAddress(url, live))).toStrictEqual([])
    const bad = [
      "http://api.pawapay.io/f",
      "https://pawapay.io.example.com/f",
      "https://notpawapay.io/f",
      // A host that anybody can rent.
      "https://s.s3.eu-central-1.amazonaws.com/f?X-Amz-Signature=1",
      "https://user:secret@pawapay.io/f",
      "https://127.0.0.1/f",
      "http://127.0.0.1/f",
      "https://169.254.169.254/latest",
      "https://[::1]/f",
      "file:///etc/passwd",
      "nonsense"
    ]
    expect(bad.filter((url) => isFileAddress(url, live))).toStrictEqual([])
    expect(isFileAddress("http://127.0.0.1:9/f", { ...live, baseUrl: "http://127.0.0.1:8/v2" })).toBe(true)
    const set = (url: string, ...statementHosts: ReadonlyArray<string>) => isFileAddress(url, { ...live, statementHosts })
    expect(set("https://bucket.s3.amazonaws.com/f", "bucket.s3.amazonaws.com")).toBe(true)
    expect(set("https://other.s3.amazonaws.com/f", "bucket.s3.amazonaws.com", "s3.amazonaws.com")).toBe(false)
    expect(set("https://files.example.com/f", "*.example.com")).toBe(true)
    expect(set("https://example.com/f", "*.example.com")).toBe(false)
    expect(set("https://pawapay.io/f", "files.example.com")).toBe(false)
  })
})

const accepted = answer(200, { statementId: "f4401bd2-1568-4140-bf2d-eb77d2b2b639", status: "ACCEPTED" })
const wallets = answer(200, { balances: [{ country: "UGA", currency: "UGX", balance: "1", provider: "" }] })
const standing = (data: object): Behaviour => answer(200, { status: "FOUND", data })
const ready: Behaviour = (response, seen) =>
  standing({ status: "COMPLETED", downloadUrl: `http://${seen.headers.host}/files/1?key=secret` })(response, seen)
const csv = (body: string): Behaviour => answer(200, body, "text/csv")

const asked = (behaviours: Readonly<Record<string, ReadonlyArray<Behaviour>>>) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(Date.parse("2026-11-29T10:00:00Z"))
    const server = yield* stub({
      "GET /public-key/http": [answer(200, [])],
      "GET /active-conf": [answer(200, { countries: [] })],
      "GET /wallet-balances": [wallets],
      "POST /statements": [accepted],
      "GET /statements/": [ready],
      "GET /files/": [csv(file(row("Payout", "p1", "-10000"), row("Payout", "p0", "-1", { at: "2026-11-26T23:30:00Z" })))],
      ...behaviours
    })
    const { provider } = yield* open(server.baseUrl)
    const { statement = () => Effect.die(new Error("pawaPay has statements")) } = provider
    return { server, statement: statement(DAY) }
  })

describe("the statement of an account at pawaPay", () => {
  it.effect("is asked for of each wallet, an hour around the day, and its file is fetched without the token", () =>
    Effect.gen(function* () {
      const { server, statement } = yield* asked({})
      expect(yield* statement).toMatchObject({ lines: [{ providerReference: "p1" }], unreadable: [], unsteady: [] })
      const [request, ...others] = server.seen.filter(({ line }) => line === "POST /statements")
      expect(others).toStrictEqual([])
      expect(JSON.parse(request?.body ?? "")).toStrictEqual({
        wallet: { country: "UGA", currency: "UGX" },
        callbackUrl: "https://callbacks.invalid/",
        startDate: "2026-11-26T23:00:00",
        endDate: "2026-11-28T01:00:00",
        compressed: false
      })
      const fetched = server.seen.filter(({ line }) => line.startsWith("GET /files/"))
      expect(fetched.map(({ headers }) => headers.authorization)).toStrictEqual([undefined])
    })
  )

  it.effect("is waited for until it is ready, and no longer than ten minutes", () =>
    Effect.gen(function* () {
      const late = yield* asked({
        "GET /statements/": [standing({ status: "PROCESSING" }), answer(200, { status: "NOT_FOUND" }), ready]
      })
      const waiting = yield* Effect.forkChild(late.statement)
      yield* late.server.arrived("GET /statements/")
      for (let step = 0; step < 20; step++)
        yield* Effect.andThen(
          TestClock.adjust(1000),
          Effect.promise(() => settled())
        )
      expect(yield* Fiber.join(waiting)).toMatchObject({ lines: [{ providerReference: "p1" }] })
    })
  )

  it.effect("is asked for of every country's wallet where one cannot be told from its row, and of none that there is not", () =>
    Effect.gen(function* () {
      const balances = [
        { country: "UGA", currency: "UGX" },
        { country: null, currency: "KES" }
      ]
      const none = answer(200, { status: "REJECTED", failureReason: { failureCode: "WALLET_NOT_FOUND" } })
      const { server, statement } = yield* asked({
        "GET /wallet-balances": [answer(200, { balances })],
        "POST /statements": [accepted, none]
      })
      expect(yield* statement).toMatchObject({ lines: [{ providerReference: "p1" }] })
      const named = server.seen.flatMap(({ body, line }) =>
        line === "POST /statements" ? [JSON.parse(body).wallet.country] : []
      )
      expect([named.length, new Set(named).size]).toStrictEqual([markets.length, markets.length])
    })
  )

  it.effect("names a wallet whose file cannot be read, and why, and the other wallets stand (38)", () =>
    Effect.gen(function* () {
      const balances = ["UGA", "UGA", "KEN"].map((country) => ({ country, currency: country === "KEN" ? "KES" : "UGX" }))
      /** One after the other, so that it is the first wallet's. */
      const said = Effect.fnUntraced(function* (path: string, behaviour: Behaviour, good: Behaviour) {
        const { statement } = yield* asked({
          "GET /wallet-balances": [answer(200, { balances })],
          [path]: [behaviour, good]
        })
        const { isPart, lines, unreadable } = yield* statement
        expect([isPart, lines.map(({ providerReference }) => providerReference)]).toStrictEqual([true, ["p1"]])
        return unreadable.map(({ place, word }) => `${place}: ${word}`.replace(/UGA UGX|KEN KES/, "ONE"))
      })
      const good = csv(file(row("Payout", "p1", "-10000")))
      const inFile = (behaviour: Behaviour) => said("GET /files/", behaviour, good)
      expect(yield* inFile(csv("Date;Amount\n1;2\n"))).toStrictEqual([
        "the statement of ONE: it has no column Creation Date, Transaction ID, Amount, Currency, Type; its columns are Date;Amount"
      ])
      expect(yield* inFile(csv(""))).toStrictEqual(["the statement of ONE: it is empty: not even its columns are named"])
      expect(yield* inFile(halfAnswer)).toStrictEqual(["the statement of ONE: its file did not come in whole: try again"])
      expect(yield* inFile(answer(403, "<Error/>", "text/xml"))).toStrictEqual(["the statement of ONE: its file is HTTP 403"])
      const elsewhere = standing({ status: "COMPLETED", downloadUrl: "https://files.example.com/1" })
      expect(yield* said("GET /statements/", elsewhere, ready)).toStrictEqual([
        expect.stringContaining("files.example.com, from where none is fetched")
      ])
      const failed = standing({ status: "FAILED", failureReason: { failureCode: "UNKNOWN_ERROR" } })
      expect(yield* said("GET /statements/", failed, ready)).toStrictEqual([expect.stringContaining("UNKNOWN_ERROR")])
      expect(yield* said("GET /statements/", answer(500, {}), ready)).toStrictEqual([expect.stringContaining("try again")])
      const refused = answer(403, { failureReason: { failureCode: "AUTHORISATION_ERROR" } })
      expect(yield* said("POST /statements", refused, accepted)).toStrictEqual([
        "the statement of ONE: pawaPay makes none: AUTHORISATION_ERROR"
      ])
      expect(yield* said("POST /statements", answer(403, "<html>", "text/html"), accepted)).toStrictEqual([
        expect.stringMatching(/^the statement of ONE: pawaPay makes none: .*403/)
      ])
    })
  )

  it.effect("says so where the wallets cannot be listed, so that each payment is asked for", () =>
    Effect.gen(function* () {
      const { server, statement } = yield* asked({ "GET /wallet-balances": [answer(403, "<html>", "text/html")] })
      expect(yield* statement).toMatchObject({
        lines: [],
        unreadable: [{ place: "the list of wallets", word: expect.stringContaining("HTTP 403") }],
        isPart: true
      })
      expect(server.seen.filter(({ line }) => line === "POST /statements")).toStrictEqual([])
      // Nobody is there who could be asked: nothing is compared.
      const down = yield* asked({ "GET /wallet-balances": [answer(503, {})] })
      expect(yield* Effect.flip(down.statement)).toMatchObject({ _tag: "provider_error" })
    })
  )

  it.effect("may be larger than any other answer: it is read while it comes in", () =>
    Effect.gen(function* () {
      const before = row("Payout", "p0", "-1", { at: "2026-11-26T23:30:00Z" })
      const large = file(...Array.from({ length: 20_000 }, () => before), row("Payout", "p1", "-10000"))
      expect(large.length).toBeGreaterThan(LARGEST_BODY_BYTES)
      const { statement } = yield* asked({ "GET /files/": [csv(large)] })
      expect((yield* statement).lines.map(({ providerReference }) => providerReference)).toStrictEqual(["p1"])
    })
  )
})

/** What was sent has arrived. */
const settled = () => new Promise((resolve) => setImmediate(resolve))
