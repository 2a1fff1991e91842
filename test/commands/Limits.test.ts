import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { gatewayReading, givenUrl, installedOn } from "./Gateway.ts"

const installation = Effect.map(givenUrl, (url) => {
  const variables = installedOn(url)
  return (line: string, input = "") =>
    Effect.map(gatewayReading(input, variables, ...line.split(" "), "--json"), ({ code, errors, output }) => ({
      code,
      errors,
      answer: output === "" ? undefined : JSON.parse(output)
    }))
})

describe("the commands that limit", () => {
  it.effect("set one of a tenant's limits and list the limits in force", () =>
    Effect.gen(function* () {
      const run = yield* installation
      yield* run("tenant create acme")
      const { answer, errors } = yield* run("limit set acme --mode live --window destination --count 3")
      expect(errors).toBe("")
      expect(answer).toContainEqual({ mode: "live", direction: "payout", window: "destination", count: 3 })
      expect(answer).toContainEqual({ mode: "live", direction: "payout", window: "hour", count: 600 })
      expect(answer).toContainEqual({ mode: "live", direction: "collection", window: "hour", count: 1_200 })
      expect(answer).toContainEqual({ mode: "live", direction: "collection", window: "day", count: 10_000 })
      expect((yield* run("limit list acme")).answer).toStrictEqual(answer)
      expect(yield* run("limit set nobody --mode live --window hour --count 1")).toMatchObject({
        code: 1,
        errors: "there is no tenant nobody: gateway tenant list shows all of them"
      })
      expect(yield* run("limit set acme --mode live --window week --count 1")).toMatchObject({ code: 2 })
      const codes = yield* run("limit set acme --mode live --direction code --window day --count 7")
      expect(codes.answer).toContainEqual({ mode: "live", direction: "code", window: "day", count: 7 })
      expect(codes.answer).toContainEqual({ mode: "test", direction: "code", window: "hour", count: 60 })
      expect(yield* run("limit set acme --mode live --direction code --window destination --count 7")).toMatchObject({
        code: 1,
        errors: "there is no window destination for code: use hour or day"
      })
      for (const count of ["-1", "1e3", "", "0x10", "1000000001"])
        expect(yield* run(`limit set acme --mode live --window hour --count ${count}`)).toMatchObject({ code: 2 })
    })
  )

  it.effect("set, list and remove caps of amounts, and refuse what is none", () =>
    Effect.gen(function* () {
      const run = yield* installation
      yield* run("tenant create acme")
      const cap = { mode: "live", direction: "payout", window: "day", currency: "UGX", amount_minor: 20_000_000 }
      const set = "limit set acme --mode live --window day --currency UGX --amount-minor"
      expect((yield* run(`${set} 1`)).answer).toContainEqual({ ...cap, amount_minor: 1 })
      expect((yield* run(`${set} 20000000`)).answer).toContainEqual(cap)
      const shillings = { ...cap, direction: "collection", window: "key_day", currency: "KES", amount_minor: 500 }
      yield* run("limit set acme --mode live --direction collection --window key_day --currency KES --amount-minor 500")
      const { answer } = yield* run("limit list acme")
      expect(answer.filter((limit: object) => "currency" in limit)).toStrictEqual([shillings, cap])
      expect(answer).toContainEqual({ mode: "live", direction: "payout", window: "day", count: 5_000 })

      for (const amount of ["0", "-1", "1.5", "1e3", "9007199254740992", "x"])
        expect([amount, yield* run(`${set} ${amount}`)]).toMatchObject([amount, { code: 2 }])
      for (const [wrong, word] of [
        ["--window day --currency XXX --amount-minor 5", "XXX"],
        ["--window week --currency UGX --amount-minor 5", "week"],
        ["--direction sideways --window day --currency UGX --amount-minor 5", "sideways"]
      ] as const)
        expect([word, yield* run(`limit set acme --mode live ${wrong}`)]).toMatchObject([
          word,
          { code: 2, errors: expect.stringContaining(word) }
        ])
      for (const [wrong, errors] of [
        ["--direction code --window day --currency UGX --amount-minor 5", "codes have no amount: use --count"],
        ["--window day --amount-minor 5", "give --count N, or --currency C with --amount-minor N"],
        ["--window day --currency UGX", "give --count N, or --currency C with --amount-minor N"],
        ["--window day --count 5 --currency UGX --amount-minor 5", "give --count N, or --currency C with --amount-minor N"],
        ["--window key --count 5", "there is no window key for payout: use hour or day or destination or destination_day"]
      ] as const)
        expect([wrong, yield* run(`limit set acme --mode live ${wrong}`)]).toMatchObject([wrong, { code: 1, errors }])
      expect(yield* run("limit set nobody --mode live --window day --currency UGX --amount-minor 5")).toMatchObject({
        code: 1,
        errors: "there is no tenant nobody: gateway tenant list shows all of them"
      })

      const removed = yield* run("limit remove acme --mode live --window day --currency UGX")
      expect(removed.answer.filter((limit: object) => "currency" in limit)).toStrictEqual([shillings])
      expect(yield* run("limit remove acme --mode live --window day --currency UGX")).toMatchObject({
        code: 1,
        errors: "there is no such cap: gateway limit list acme shows all of the tenant's"
      })
      const { answer: rows } = yield* run("audit list")
      const changes = rows.filter(({ action }: { action: string }) => action.startsWith("cap "))
      expect(changes).toHaveLength(4)
      expect(changes[0]).toMatchObject({ action: "cap remove", subject: "acme", details: { window: "day", currency: "UGX" } })
      expect((yield* run("audit verify")).answer).toMatchObject({ ok: true })
    })
  )

  it.effect("set a provider account's ceiling, and refuse a provider that no corridor uses", () =>
    Effect.gen(function* () {
      const run = yield* installation
      expect((yield* run("ceiling set eversend UGX --amount-minor 5000000")).answer).toStrictEqual({
        provider: "eversend",
        currency: "UGX",
        amount_minor: 5_000_000
      })
      expect(yield* run("ceiling set eversent UGX --amount-minor 1")).toMatchObject({ code: 1 })
    })
  )

  it.effect("block destinations and deny names, and never show either again", () =>
    Effect.gen(function* () {
      const run = yield* installation
      expect((yield* run("block add +256772123456 --reason fraud")).answer).toMatchObject({
        kind: "destination",
        masked: "••••3456"
      })
      expect(yield* run("block add 256772123456 --reason fraud")).toMatchObject({
        code: 1,
        errors: "••••3456 is on the list already"
      })
      for (const spelled of ["2560772123456", "00256772123456", "0772123456 --country UG"])
        expect([spelled, yield* run(`block add ${spelled} --reason again`)]).toMatchObject([
          spelled,
          { code: 1, errors: "••••3456 is on the list already" }
        ])
      expect(yield* run("block add 0772123456 --reason fraud")).toMatchObject({
        code: 1,
        errors: expect.stringContaining("--country")
      })
      expect(yield* run("block add - --reason again", "+256 772 123456\r\nmore")).toMatchObject({
        code: 1,
        errors: "••••3456 is on the list already"
      })
      expect(yield* run("block add - --reason nothing")).toMatchObject({ code: 1, errors: expect.stringContaining("no digit") })
      expect((yield* run("block add 0772123456 --account --reason fraud")).answer).toMatchObject({
        party: "account",
        masked: "••••3456"
      })
      expect((yield* run("screening deny Jane --kind name --reason told-by-0772000111")).answer).toMatchObject({
        masked: "J•••",
        reason: "told-by-••••0111"
      })
      expect((yield* run("block list")).answer).toMatchObject([
        { kind: "destination", masked: "••••3456", reason: "fraud" },
        { kind: "destination", masked: "••••3456", reason: "fraud" }
      ])
      expect((yield* run("screening list")).answer).toMatchObject([
        { kind: "screened_name", masked: "J•••", reason: "told-by-••••0111" }
      ])
    })
  )
})
