import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Environment, settings } from "../../src/Config.ts"
import { knownProviders } from "../../src/providers/Registry.ts"

const page = readFileSync(join(resolve(import.meta.dirname, "..", ".."), "docs/settings.md"), "utf8")
const own = new RegExp(`^(${knownProviders.map(({ name }) => name.toUpperCase()).join("|")})_`)

/** The names that the program looks up. Those of a provider's account are its README's. */
const namesRead = Effect.gen(function* () {
  const names = new Set<string>()
  // Some are read only beside a database.
  const variables: Record<string, string> = {
    DATABASE_URL: "postgres://gateway@127.0.0.1/gateway",
    MASTER_KEY: Buffer.alloc(32).toString("base64")
  }
  const watched = new Proxy(variables, { get: (target, name) => (names.add(String(name)), target[String(name)]) })
  yield* Effect.provideService(settings, Environment, watched)
  return [...names].filter((name) => !own.test(name))
})

describe("docs/settings.md", () => {
  it.effect("names every setting that the program reads", () =>
    Effect.gen(function* () {
      const names = yield* namesRead
      expect(names.length).toBeGreaterThan(40)
      expect(names.filter((name) => !name.startsWith("OTEL_") && !page.includes(`\`${name}\``))).toEqual([])
    })
  )

  it.effect("names no setting that the program does not read", () =>
    Effect.gen(function* () {
      const names = new Set(yield* namesRead)
      const inFirstColumn = [...page.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = ""]) =>
        [...cell.matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name = ""]) => name)
      )
      const elsewhere = /^(OTEL_|MIGRATION_DATABASE_URL)/
      const providers = new Set(knownProviders.map(({ name }) => name.toUpperCase()))
      const unread = inFirstColumn.filter(
        (name) => !names.has(name) && !elsewhere.test(name) && !own.test(name) && !providers.has(name)
      )
      expect(unread).toEqual([])
    })
  )
})
