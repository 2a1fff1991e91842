import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { freshDatabase } from "../support/Postgres.ts"
import { gateway, installedOn } from "./Gateway.ts"

const installation = Effect.map(
  Effect.promise(() => freshDatabase()),
  ({ url }) => {
    const variables = installedOn(url)
    return (line: string) =>
      Effect.map(gateway(variables, ...line.split(" "), "--json"), ({ code, errors, output }) => ({
        code,
        errors,
        answer: output === "" ? undefined : JSON.parse(output)
      }))
  }
)

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
