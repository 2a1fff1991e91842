import { PgClient } from "@effect/sql-pg"
import { describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { expect } from "vitest"
import { asRuntime, freshDatabase } from "../support/Postgres.ts"
import { gateway, installedOn } from "./Gateway.ts"

const CREDIT = ["--mode", "live", "--currency", "UGX", "--amount-minor", "5000", "--external-id", "e", "--note", "n"]

/** An empty database, with a role that owns it and one that gateways run as. */
const given = Effect.gen(function* () {
  const { url } = yield* Effect.promise(() => freshDatabase())
  const runtime = Redacted.value(asRuntime(Redacted.make(url)))
  const variables = installedOn(runtime)
  const run = (...args: ReadonlyArray<string>) => gateway(variables, ...args)
  const migrate = (migrations: string) => gateway({ ...variables, MIGRATION_DATABASE_URL: migrations }, "migrate", "--json")
  return { migrate, run, runtime, url, variables }
})

describe("a database with two roles", () => {
  it.effect("is created by its owner, and used by a role that can change no record of the past", () =>
    Effect.gen(function* () {
      const { migrate, run, url } = yield* given
      const refused = yield* run("tenant", "list")
      expect(refused).toMatchObject({ code: 1, output: "" })
      expect(refused.errors).toContain("run `gateway migrate` with MIGRATION_DATABASE_URL first")

      const first = yield* migrate(url)
      expect(first).toMatchObject({ code: 0, errors: "" })
      expect(JSON.parse(first.output).applied).toContain("0005_operators")
      expect(JSON.parse((yield* migrate(url)).output)).toEqual({ applied: [] })

      for (const line of [
        ["tenant", "create", "acme"],
        ["key", "issue", "acme", "--mode", "live"],
        ["float", "credit", "acme", ...CREDIT]
      ])
        expect(yield* run(...line)).toMatchObject({ code: 0, errors: "" })
      expect((yield* run("audit", "verify")).code).toBe(0)
      expect((yield* run("ledger", "verify")).code).toBe(0)
      const status = JSON.parse((yield* run("status", "--json")).output)
      expect(status.database_role).toEqual({ role: "gateway_runtime", evidence_protected: true })
      // As it is in force on the server of the tests.
      const weak = { survive_a_crash: false, synchronous_commit: "off", fsync: "off", full_page_writes: "off" }
      expect(status.commits).toEqual([{ server: new URL(url).host, ...weak }])
      expect(status.needs_attention[0]).toContain("could take back what is committed (synchronous_commit = off, fsync = off")
      expect(JSON.stringify(status.needs_attention)).not.toContain("nothing protects them")
    })
  )

  it.effect("is distinguished from one whose only role owns everything, which works and is reported", () =>
    Effect.gen(function* () {
      const { url } = yield* given
      const variables = installedOn(url)
      expect((yield* gateway(variables, "tenant", "create", "acme")).code).toBe(0)
      const status = JSON.parse((yield* gateway(variables, "status", "--json")).output)
      expect(status.database_role).toEqual({ role: "gateway", evidence_protected: false })
      expect(status.needs_attention).toContain(
        "the database role gateway could change or remove audit rows, postings and history: nothing protects them from this gateway"
      )
    })
  )

  it.effect("is refused when both addresses log in as the owner, or when the gateway's role cannot log in", () =>
    Effect.gen(function* () {
      const { migrate, url, variables } = yield* given
      const both = { ...variables, DATABASE_URL: url, MIGRATION_DATABASE_URL: url }
      expect((yield* gateway(both, "migrate")).errors).toContain("Give DATABASE_URL a role of its own")
      const nobody = url.replace(/\/\/[^@]+@/, "//nobody:wrong@")
      expect((yield* gateway({ ...both, DATABASE_URL: nobody }, "migrate")).code).toBe(1)
      expect((yield* migrate("postgres://nobody:wrong@10.0.0.9/db")).errors).toContain(
        "MIGRATION_DATABASE_URL leads to another machine"
      )
      const alone = yield* gateway({ MIGRATION_DATABASE_URL: url }, "tenant", "list")
      expect(alone.errors).toContain("MIGRATION_DATABASE_URL stands beside DATABASE_URL")
    })
  )

  it.effect("is refused to the role while a function is not as it was put, until the owner has put it again", () =>
    Effect.gen(function* () {
      const { migrate, run, url } = yield* given
      yield* migrate(url)
      const owner = yield* PgClient.makeClient({ url: Redacted.make(url) })
      yield* owner`ALTER FUNCTION append_audit_row RESET search_path`
      expect((yield* run("tenant", "list")).errors).toContain("run `gateway migrate` with MIGRATION_DATABASE_URL first")
      expect(JSON.parse((yield* migrate(url)).output)).toEqual({ applied: ["functions/audit"] })
      expect((yield* run("tenant", "list")).code).toBe(0)
    }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
  )

  it.effect("grants new tables to the role in the migration that creates them", () =>
    Effect.gen(function* () {
      const { migrate, run, url } = yield* given
      yield* migrate(url)
      const owner = yield* PgClient.makeClient({ url: Redacted.make(url) })
      yield* owner`REVOKE ALL ON tenants FROM gateway_runtime`
      expect((yield* run("tenant", "list")).code).toBe(1)
      yield* migrate(url)
      expect((yield* run("tenant", "list")).code).toBe(0)
    }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
  )
})
