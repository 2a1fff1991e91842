import { randomBytes } from "node:crypto"
import { chown, readFile, stat, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { authority, type Certificate, ofAnotherHost, rightful, selfSigned } from "../../../lab/receivers/Certificates.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { EmbeddedPostgres } from "../../../src/persistence/postgres/EmbeddedPostgres.ts"
import { databaseFolder } from "../../support/DatabaseFolder.ts"
import { removeDataDir } from "../../support/Postgres.ts"

const connected = (url: string) => Layer.build(Layer.fresh(Database.layer({ url: Redacted.make(url) })))

/** A PostgreSQL of this test alone, and a file with the authority that signed its certificates. */
const server = Effect.gen(function* () {
  const dataDir = join(databaseFolder(), `payment-gateway-tls-${randomBytes(6).toString("hex")}`)
  yield* Effect.addFinalizer(() => Effect.promise(() => removeDataDir(dataDir)))
  const running = Effect.map(EmbeddedPostgres.ensureRunning(dataDir, "off"), (one) => Redacted.value(EmbeddedPostgres.url(one)))
  let url = yield* running
  const { cluster } = JSON.parse(yield* Effect.promise(() => readFile(join(dataDir, "postgres.json"), "utf8")))
  const authorities = join(dataDir, "authority.pem")
  yield* Effect.promise(() => writeFile(authorities, authority))

  /** Started again, the server shows this certificate; null: it has no TLS. */
  const show = Effect.fnUntraced(function* (certificate: Certificate | null) {
    if (certificate !== null) yield* Effect.promise(() => placed(resolve(dataDir, cluster), certificate))
    const sql = Context.get(yield* connected(url), SqlClient.SqlClient)
    yield* sql.unsafe(`ALTER SYSTEM SET ssl = ${certificate === null ? "off" : "on"}`)
    yield* EmbeddedPostgres.stop(dataDir)
    url = yield* running
  }, Effect.scoped)

  /** Whether a connection by this address is encrypted, or why there is none. */
  const dialled = (parameters: string) =>
    connected(`${url}?${parameters}`).pipe(
      Effect.flatMap((context) => {
        const sql = Context.get(context, SqlClient.SqlClient)
        return sql<{ ssl: boolean }>`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`
      }),
      Effect.map(([row]) => (row?.ssl === true ? "encrypted" : "plain")),
      Effect.catch((error) => Effect.succeed(error.message)),
      Effect.scoped
    )
  return { dialled, authorities, show }
})

/** For the account of PostgreSQL alone, or it would not start with it. */
const placed = async (folder: string, { cert, key }: Certificate): Promise<void> => {
  const { gid, uid } = await stat(folder)
  for (const [name, text] of [
    ["server.crt", cert],
    ["server.key", key]
  ] as const) {
    await writeFile(join(folder, name), `${text}\n`, { mode: 0o600 })
    await chown(join(folder, name), uid, gid)
  }
}

describe("the connection to the database", () => {
  it.live("is encrypted and verified as its address says, with the named authority", () =>
    Effect.gen(function* () {
      const { authorities, dialled, show } = yield* server
      const own = `sslrootcert=${authorities}`

      yield* show(rightful)
      expect(yield* dialled("")).toBe("plain")
      expect(yield* dialled(`sslmode=verify-full&${own}`)).toBe("encrypted")
      expect(yield* dialled(`sslmode=verify-ca&${own}`)).toBe("encrypted")
      expect(yield* dialled("sslmode=verify-full")).toContain("unable to verify")
      expect(yield* dialled("sslmode=verify-full&sslrootcert=system")).toContain("unable to verify")
      expect(yield* dialled("sslmode=require")).toBe("encrypted")

      yield* show(ofAnotherHost)
      expect(yield* dialled(`sslmode=verify-full&${own}`)).toContain("does not match certificate")
      expect(yield* dialled(`sslmode=verify-ca&${own}`)).toBe("encrypted")

      yield* show(selfSigned)
      for (const mode of ["verify-full", "verify-ca", "require"]) {
        expect(yield* dialled(`sslmode=${mode}&${own}`)).toContain("self-signed certificate")
      }
      expect(yield* dialled("sslmode=require")).toBe("encrypted")

      yield* show(null)
      for (const mode of ["verify-full", "verify-ca", "require"]) {
        expect(yield* dialled(`sslmode=${mode}`)).toContain("does not support TLS")
      }
    }).pipe(Effect.scoped)
  )

  it.live("reports in one line what is wrong with a file of authorities", () =>
    Effect.gen(function* () {
      const at = (file: string) =>
        Effect.map(
          Effect.flip(Effect.scoped(connected(`postgres://127.0.0.1:1/x?sslmode=verify-full&sslrootcert=${file}`))),
          String
        )
      expect(yield* at("/nowhere/ca.pem")).toContain("the sslrootcert of DATABASE_URL, /nowhere/ca.pem, cannot be read")
      expect(yield* at(import.meta.filename)).toContain("holds no certificate")
    })
  )
})
