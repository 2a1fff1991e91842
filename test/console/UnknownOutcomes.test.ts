import { mkdtemp, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { Fact } from "../../src/domain/Fact.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { AuditLog } from "../../src/services/ports/AuditLog.ts"
import { digestOf } from "../../src/services/settlement/RulingFiles.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { gateway as command } from "../commands/Gateway.ts"
import { momoCharge, momoPayout } from "../support/RequestBodies.ts"
import { referenceOf } from "../support/SignedClient.ts"
import { changeCorridor, type Gateway, Stack, tenantOn, verified } from "../support/Stack.ts"
import { masterKey } from "../support/TestDatabase.ts"
import { personOn, textOf } from "./FormPerson.ts"

const unanswered: Fact = { _tag: "Unknown", reason: "timeout", note: "no answer in time" }
const another: Fact = {
  _tag: "Succeeded",
  providerReference: null,
  amount: minor(9_999n),
  currency: "UGX",
  fee: null,
  note: "status successful"
}

const COUNT = 40

/** Payouts of a new tenant, each to a number of its own with that ending, and the word of its provider. */
const givenPayouts = Effect.fnUntraced(function* (gateway: Gateway, ending: string, fact: Fact) {
  const tenant = yield* tenantOn(gateway, 11_000n * BigInt(COUNT))
  const pay = (_: unknown, at: number) => {
    const { destination, ...payout } = momoPayout(ending)
    return tenant.post("/v1/payouts", { ...payout, destination: { ...destination, msisdn: `25677${200 + at}${ending}` } })
  }
  const answers = yield* Effect.forEach(Array.from({ length: COUNT }), pay, { concurrency: 8 })
  const references = answers.map((answer) => Reference.make(referenceOf(answer)))
  const { apply } = Context.get(gateway.context, Settlement)
  yield* Effect.forEach(references, (reference) => apply({ reference, fact, actor: "reconciler" }), { concurrency: 8 })
  const statuses = Effect.orDie(
    Context.get(gateway.context, SqlClient.SqlClient)<{ status: string; count: number }>`
      SELECT status, count(*)::int AS count FROM transactions WHERE app_id = ${tenant.appId} GROUP BY 1 ORDER BY 1`
  )
  return { tenant, references, statuses: Effect.map(statuses, (rows) => rows.map(({ count, status }) => `${status} ${count}`)) }
})

const csv = (text: string) => new File([text], "rulings.csv", { type: "text/csv" })
const hiddenIn = (page: string, name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(page)?.[1] ?? ""
/** What the form of a file that was looked through sends back. */
const lookedAt = (page: string) => ({ base64: hiddenIn(page, "base64"), seen: hiddenIn(page, "seen") })

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0", PROVIDER_TIMEOUT_MS: "15000" }), { excludeTestServices: true })(
  "many unknown outcomes in the console",
  (it) => {
    it.effect("are on one page with what narrows them down, and asked about together, each with its audit row", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const { references, statuses, tenant } = yield* givenPayouts(gateway, "0008", unanswered)
        const person = yield* personOn(gateway, "asha", "support")
        const path = `/unknown?app=${tenant.appId}`
        const shown = textOf((yield* person.read(path)).text)
        expect(shown).toContain(`${COUNT} in all: ${COUNT} of UGX ${COUNT}0,000`)
        const found = (query: string) =>
          Effect.map(person.read(`${path}&${query}`), ({ text }) => Number(/(\d+) in all/.exec(textOf(text))?.[1] ?? 0))
        const fits = ["provider=eversend", "kind=payout", "mode=live", "state=unknown", "currency=UGX&least=10,000&most=10,000"]
        const not = ["provider=mtn", "kind=exchange", "mode=test", "state=review", "currency=UGX&least=10,001", "age=1h"]
        expect(yield* Effect.forEach(fits, found)).toStrictEqual(fits.map(() => COUNT))
        expect(yield* Effect.forEach(not, found)).toStrictEqual(not.map(() => 0))
        expect((yield* person.read(`${path}&least=12`)).status).toBe(422)

        const seen = String(Number.MAX_SAFE_INTEGER)
        const filter = new URLSearchParams({ app: tenant.appId }).toString()
        const form = (what: string, ...ids: ReadonlyArray<string>) =>
          person.send(path, "/unknown/act", [
            ["do", what],
            ["filter", filter],
            ["seen", seen],
            ["taken", "asked their support"],
            ...ids.map((id) => ["id", id] as const)
          ])
        const [one = "", two = ""] = references
        expect(textOf((yield* form("acknowledge ticked", one, two)).text)).toContain("2 acknowledged")
        expect((yield* form("ask ticked")).to).toContain("said=none-ticked")
        expect(textOf((yield* form("ask all")).text)).toContain(`${COUNT} settled`)
        expect(yield* statuses).toStrictEqual([`successful ${COUNT}`])
        const rows = (yield* Context.get(gateway.context, AuditLog).list(500)).filter(({ subject }) => subject === one)
        expect(rows.map(({ action, actor }) => `${actor} ${action}`)).toEqual(
          expect.arrayContaining(["console/asha transaction ask", "console/asha review acknowledge"])
        )
        expect(textOf((yield* person.read(path)).text)).toContain("Nothing that fits is unknown or overdue.")
      })
    )

    it.effect(
      "say each until when its provider is asked: a day, or longer where the payer may still pay, and then a person rules",
      () =>
        Effect.gen(function* () {
          const { gateway } = yield* Stack
          const tenant = yield* tenantOn(gateway, 100_000n)
          const short = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0008")))
          const payable = referenceOf(yield* tenant.post("/v1/collections", momoCharge("0008")))
          const { apply } = Context.get(gateway.context, Settlement)
          const heard = (reference: string, fact: Fact) =>
            apply({ reference: Reference.make(reference), fact, actor: "reconciler" })
          const payableUntil = Date.now() + 70 * 3_600_000
          yield* heard(payable, { _tag: "StillPending", providerReference: null, payableUntil, note: "" })
          const [{ createdAt }] = [yield* heard(short, unanswered), yield* heard(payable, unanswered)]
          const ends = [createdAt + 24 * 3_600_000, payableUntil + 12 * 3_600_000].map((at) => new Date(at).toISOString())
          const asha = yield* personOn(gateway, "until", "support")
          const [one, other] = ends.map((at) => `${at.slice(0, 16).replace("T", " ")} UTC`)
          const page = textOf((yield* asha.read(`/unknown?app=${tenant.appId}`)).text)
          expect(page).toMatch(new RegExp(`${short}.*${one}.*${payable}.*${other}`))
          const [names = "", ...rows] = (yield* asha.read(`/unknown.csv?app=${tenant.appId}`)).text.split("\r\n")
          const place = names.split(",").indexOf("asked_until")
          expect(rows.slice(0, 2).map((row) => row.split(",")[place])).toEqual(ends)
          yield* heard(short, another)
          const reviewed = textOf((yield* asha.read(`/unknown?app=${tenant.appId}&state=review`)).text)
          expect(reviewed).toMatch(new RegExp(`${short}.*waits for a person`))
        })
    )

    it.effect(
      "are ruled by one file that two people agree on, each row once, and every row that is not is named with its line",
      () =>
        Effect.gen(function* () {
          const { gateway } = yield* Stack
          const { references, statuses, tenant } = yield* givenPayouts(gateway, "0010", another)
          const { apply } = Context.get(gateway.context, Settlement)
          yield* Effect.forEach(references, (reference) => apply({ reference, fact: another, actor: "reconciler" }))
          const [asha, biko] = [yield* personOn(gateway, "amina", "support"), yield* personOn(gateway, "biko", "approver")]
          const template = (yield* asha.read(`/unknown/rulings.csv?app=${tenant.appId}`)).text
          expect(template.split("\n")[0]).toBe("reference,outcome,fee_minor,currency")
          expect(
            template
              .trim()
              .split("\n")
              .slice(1)
              .map((line) => line.slice(0, 26))
              .toSorted()
          ).toStrictEqual(references.toSorted())
          const good = references.slice(2).map((reference, at) => `${reference},${at % 4 === 0 ? "failed" : "successful"},,UGX`)
          const [wrong = "", twice = ""] = references
          const bad = [
            `${wrong},success,,UGX`,
            `${twice},failed,,UGX`,
            `${twice},successful,,UGX`,
            "00000000000000000000000000,failed,,UGX",
            "not-a-reference,failed,,UGX"
          ]
          const text = `\uFEFFreference,outcome,fee_minor,currency\r\n${[...good, ...bad].join("\r\n")}\r\n`
          const looked = yield* asha.upload("/unknown/files", { file: csv(text) })
          const page = textOf(looked.text)
          expect(page).toContain(`Would be booked: ${COUNT - 2}`)
          expect(page).toContain("Would not be ruled: 5")
          const line = COUNT
          for (const why of [
            `${line} ${wrong} the outcome is successful or failed`,
            `${line + 1} ${twice} the reference stands on line ${line + 2} as well`,
            `${line + 3} 00000000000000000000000000 there is no such transaction`,
            `${line + 4} not-a-reference the reference is none of ours`
          ])
            expect(page).toContain(why)
          expect(yield* statuses).toStrictEqual([`pending ${COUNT}`])

          const proposed = yield* asha.upload("/unknown/files/propose", {
            ...lookedAt(looked.text),
            evidence: "letter of 31 January"
          })
          expect(proposed.to).toMatch(/^\/unknown\/files\/\w{26}\?said=proposed$/)
          const file = proposed.to.split("?")[0] ?? ""
          const id = file.split("/").at(-1) ?? ""
          const own = yield* asha.send(file, `/proposals/${id}/approve`, [])
          expect([own.status, yield* statuses]).toStrictEqual([403, [`pending ${COUNT}`]])
          const approved = yield* biko.send(file, `/proposals/${id}/approve`, [])
          expect(approved.to).toContain("approved")
          const failed = Math.ceil((COUNT - 2) / 4)
          expect(yield* statuses).toStrictEqual([`failed ${failed}`, "pending 2", `successful ${COUNT - 2 - failed}`])
          expect(textOf((yield* biko.read(file)).text)).toContain(`Ruled so already: ${COUNT - 2}`)

          // The same file again does nothing twice.
          const again = textOf((yield* asha.upload("/unknown/files", { file: csv(text) })).text)
          expect(again).toContain(`Ruled so already: ${COUNT - 2}`)
          expect(again).not.toContain("Would be booked")
          const audit = yield* Context.get(gateway.context, AuditLog).list(1_000)
          const ofFile = audit.filter(({ action, details }) => action === "review resolve" && details["file"] === digestOf(text))
          expect(ofFile.map(({ subject }) => subject).toSorted()).toStrictEqual(references.slice(2).toSorted())
          expect(ofFile[0]?.details).toMatchObject({ approved_by: "biko", proposed_by: "amina" })
          expect(yield* Effect.map(verified(gateway), ({ differences }) => differences)).toStrictEqual([])
        })
    )

    it.effect("are no part of what is approved where their record has changed since the file was looked through", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const { references, statuses } = yield* givenPayouts(gateway, "0010", another)
        const { apply } = Context.get(gateway.context, Settlement)
        const [amina, biko] = [yield* personOn(gateway, "aisha", "support"), yield* personOn(gateway, "babu", "approver")]
        const [changed = "", early = "", ...others] = references
        const text = ["reference,outcome", ...[changed, early].map((one) => `${one},successful`)].join("\n")
        // The provider says something more between the look and the proposal.
        const looked = yield* amina.upload("/unknown/files", { file: csv(text) })
        expect(textOf(looked.text)).toContain("Would be booked: 2")
        yield* apply({ reference: Reference.make(changed), fact: { ...another, amount: minor(9_998n) }, actor: "reconciler" })
        const sent = yield* amina.upload("/unknown/files/propose", { ...lookedAt(looked.text), evidence: "letter of 31 January" })
        const file = sent.to.split("?")[0] ?? ""
        const shown = textOf((yield* biko.read(file)).text)
        expect(shown).toContain("Would be booked: 1")
        expect(shown).toContain(`2 ${changed} it has changed since the file was looked at`)
        yield* biko.send(file, `/proposals/${file.split("/").at(-1)}/approve`, [])
        expect(textOf((yield* biko.read(file)).text)).toContain("1 row ruled, 1 left: line 2: it has changed since")
        expect(yield* statuses).toStrictEqual([`pending ${COUNT - 1}`, "successful 1"])

        // A form that says nothing of what was looked at proposes nothing.
        const other = ["reference,outcome", ...others.map((one) => `${one},successful`)].join("\n")
        const { base64 } = lookedAt((yield* amina.upload("/unknown/files", { file: csv(other) })).text)
        const refused = yield* amina.upload("/unknown/files/propose", { base64, evidence: "letter of 31 January" })
        expect([refused.status, textOf(refused.text)]).toStrictEqual([
          422,
          expect.stringContaining("No row of it can be ruled as it was looked at.")
        ])
      })
    )

    it.effect("have the currency of the record in the file to fill in, and a figure without one is refused", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        yield* changeCorridor(gateway, { country: "GH", method: "momo" }, { destinationCurrencies: ["GHS", "KES"] })
        const tenant = yield* tenantOn(gateway, 100_000n, { currency: "GHS" })
        const across = {
          currency: "GHS",
          country: "GH",
          destination_currency: "KES",
          amount_type: "DESTINATION",
          amount_minor: 103_200
        }
        const destination = { type: "momo", msisdn: "254712000010", network: "MPESA", country: "KE" }
        const reference = Reference.make(
          referenceOf(yield* tenant.post("/v1/payouts", { ...momoPayout(""), ...across, destination }))
        )
        const { apply } = Context.get(gateway.context, Settlement)
        const inKes: Fact = { ...another, amount: minor(103_199n), currency: "KES" }
        yield* Effect.forEach([inKes, inKes], (fact) => apply({ reference, fact, actor: "reconciler" }))
        const person = yield* personOn(gateway, "doro", "support")
        const list = textOf((yield* person.read(`/unknown?app=${tenant.appId}`)).text)
        expect(list).toContain("KES 1,032.00")
        const template = (yield* person.read(`/unknown/rulings.csv?app=${tenant.appId}`)).text
        expect(template).toBe(`reference,outcome,fee_minor,currency\n${reference},,,GHS\n`)
        const look = (line: string) =>
          Effect.map(person.upload("/unknown/files", { file: csv(template.replace(",,,GHS", line)) }), ({ text }) => textOf(text))
        expect(yield* look(",failed,0,GHS")).toContain("Would be booked: 1")
        expect(yield* look(",failed,0,")).toContain("a figure needs its currency")
        expect(yield* look(",failed,0,KES")).toContain("its currency is GHS, and not KES")
      })
    )

    it.effect(
      "are listed, acknowledged, and ruled by one file on the command line as well, by who states that nobody else is there",
      () =>
        Effect.gen(function* () {
          const { database, gateway } = yield* Stack
          const { references, statuses, tenant } = yield* givenPayouts(gateway, "0010", another)
          const run = (...args: ReadonlyArray<string>) =>
            command(
              { DATABASE_URL: Redacted.value(database), MASTER_KEY: Redacted.value(masterKey) },
              "review",
              ...args,
              "--json"
            )
          const listed = JSON.parse((yield* run("unknown", "--app", tenant.appId, "--state", "review")).output)
          expect(listed).toHaveLength(COUNT)
          expect(listed[0]).toMatchObject({ app_id: tenant.appId, state: "review", amount_minor: 10_000, currency: "UGX" })
          const acknowledged = yield* run("unknown", "--app", tenant.appId, "--acknowledge", "wrote to their support")
          expect(JSON.parse(acknowledged.output)).toHaveLength(COUNT)

          const file = join(yield* Effect.promise(() => mkdtemp(join(tmpdir(), "rulings-"))), "rulings.csv")
          const [first = "", ...rest] = references
          const lines = [`${first},success`, ...rest.map((reference) => `${reference},successful`)]
          yield* Effect.promise(() => writeFile(file, `reference,outcome\n${lines.join("\n")}\n`))
          const rule = (...more: ReadonlyArray<string>) => run("rule", file, "--evidence", "letter of 31 January", ...more)
          const dry = yield* rule("--dry-run")
          expect(JSON.parse(dry.output)).toMatchObject({
            would_rule: { length: COUNT - 1 },
            not_ruled: [{ line: 2, reference: first, why: "the outcome is successful or failed" }]
          })
          expect(yield* rule()).toMatchObject({ code: 1, errors: expect.stringContaining("many rulings take two people") })
          expect(yield* statuses).toStrictEqual([`pending ${COUNT}`])
          const ruled = yield* rule("--no-second-person")
          expect([ruled.code, ruled.errors]).toStrictEqual([1, "1 of the rows was not ruled"])
          expect(yield* statuses).toStrictEqual(["pending 1", `successful ${COUNT - 1}`])
          const again = yield* rule("--no-second-person")
          expect(JSON.parse(again.output)).toMatchObject({ ruled: [], not_ruled: { length: COUNT } })
        })
    )

    it.effect("whose file is none, or says nothing that can be ruled, book nothing and say why", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const person = yield* personOn(gateway, "chidi", "support")
        const look = (text: string | Uint8Array<ArrayBuffer>) =>
          Effect.map(person.upload("/unknown/files", { file: new File([text], "x.csv") }), ({ status, text: page }) => [
            status,
            textOf(page)
          ])
        expect(yield* look("")).toStrictEqual([422, expect.stringContaining("lacks reference and outcome")])
        expect(yield* look("reference,outcome,fee\n")).toStrictEqual([422, expect.stringContaining("there is no column fee")])
        expect(yield* look(new Uint8Array([0x72, 0xff, 0xfe]))).toStrictEqual([422, expect.stringContaining("no text in UTF-8")])
        expect(yield* look("a".repeat(600_000))).toStrictEqual([413, expect.stringContaining("too much")])
        expect(yield* look(`reference,outcome\n${"x,failed\n".repeat(1_001)}`)).toStrictEqual([
          422,
          expect.stringContaining("at most 1000")
        ])
      })
    )
  }
)
