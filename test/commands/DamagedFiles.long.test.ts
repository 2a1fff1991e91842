import { mkdtempSync } from "node:fs"
import { chmod, copyFile, open, stat } from "node:fs/promises"
import { join } from "node:path"
import { layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { expect } from "vitest"
import { PostgresServer } from "../../src/persistence/postgres/PostgresServer.ts"
import { databaseFolder } from "../support/DatabaseFolder.ts"
import { removeDataDir } from "../support/Postgres.ts"
import { type Member, openMembers } from "../support/PostgresMembers.ts"
import { gateway, installedOn } from "./Gateway.ts"

const PAGE = 8_192

interface Verified {
  readonly ok: boolean
  readonly differences: ReadonlyArray<{ readonly rule: string; readonly subject: string; readonly unread?: true }>
}

/** A server with a tenant and its float, one wrong position, and a key whose record is gone. */
class Ledger extends Context.Service<
  Ledger,
  {
    /** What the command says while every page of the relation is half written, which the query gives as `file`. Afterwards it is whole. */
    readonly damaged: (
      file: string,
      ...command: ReadonlyArray<string>
    ) => Effect.Effect<{ readonly code: number; readonly errors: ReadonlyArray<string>; readonly output: string }>
  }
>()("test/Ledger") {
  static readonly layer = Layer.effect(
    Ledger,
    Effect.gen(function* () {
      const dataDir = mkdtempSync(join(databaseFolder(), "payment-gateway-damaged-"))
      yield* Effect.promise(() => chmod(dataDir, 0o711))
      yield* Effect.addFinalizer(() => Effect.promise(() => removeDataDir(dataDir)))
      const members = yield* Effect.acquireRelease(
        Effect.promise(() => openMembers(dataDir, ["only"], "full")),
        ({ close }) => Effect.promise(close)
      )
      const [server] = members.all
      if (server === undefined) return yield* Effect.die("one member")
      const installed = installedOn(members.url([server]))
      const run = (...args: ReadonlyArray<string>) => gateway(installed, ...args, "--json")
      const amount = ["--mode", "live", "--currency", "UGX", "--amount-minor", "5000", "--note", "n"]
      yield* run("migrate")
      yield* run("tenant", "create", "acme")
      yield* run("float", "credit", "acme", ...amount, "--external-id", "e")
      expect(yield* run("ledger", "verify")).toMatchObject({ code: 0, errors: "" })
      const wrong = "UPDATE float_positions SET available_minor = available_minor + 1, credited_minor = credited_minor + 1"
      const left = `INSERT INTO idempotency_keys (app_id, mode, endpoint, key, fingerprint, fence, state, lease_until, reference, created_at)
        VALUES ('acme', 'live', 'POST /v1/payouts', 'key', '', 1, 'pinned', now(), 'R', now())`
      yield* Effect.promise(() => server.sql(wrong).then(() => server.sql(left)))
      const damaged = Effect.fnUntraced(function* (query: string, ...command: ReadonlyArray<string>) {
        const file = yield* Effect.promise(() => fileOf(server, query))
        yield* Effect.promise(() => spoil(server, file))
        const { code, errors, output } = yield* run(...command)
        yield* Effect.promise(() => mend(server, file))
        return { code, errors: errors.split("\n"), output }
      })
      return { damaged }
    })
  )
}

const fileOf = async (server: Member, query: string): Promise<string> => {
  const [row] = await server.sql(query)
  return join(server.folder, String(row?.["file"]))
}

const spoil = async (server: Member, path: string): Promise<void> => {
  await stop(server)
  await copyFile(path, join(server.folder, "kept"))
  const { size } = await stat(path)
  const file = await open(path, "r+")
  for (let at = 0; at < size; at += PAGE) await file.write(Buffer.alloc(PAGE / 2, 0xff), 0, PAGE / 2, at + PAGE / 2)
  await file.close()
  await server.start()
}

const mend = async (server: Member, path: string): Promise<void> => {
  await stop(server)
  await copyFile(join(server.folder, "kept"), path)
  await server.start()
}

/** Until it has written all it had, and ended. */
const stop = ({ folder }: Member): Promise<unknown> => Effect.runPromise(PostgresServer.stop(folder))

const lineOf = (subject: string): RegExp =>
  new RegExp(
    `^${subject} cannot be read: invalid page in block \\d+ of relation "base/\\d+/\\d+".*; \\d+ rules do not know all of it: see docs/runbooks/database-down.md$`
  )
const WRONG = "the ledger has 3 differences: see docs/runbooks/ledger-difference.md"
const unreadIn = ({ differences }: Verified) => new Set(differences.filter(({ unread }) => unread).map(({ rule }) => rule))
const wrongIn = ({ differences }: Verified) => differences.filter(({ unread }) => !unread).map(({ rule }) => rule)
const verifiedWith = (file: string, ...flags: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { code, errors, output } = yield* (yield* Ledger).damaged(file, "ledger", "verify", ...flags)
    if (output === "") return yield* Effect.die(new Error(errors.join("\n")))
    const verified: Verified = JSON.parse(output)
    return { code, errors, verified }
  })
const ADJUSTMENTS = "SELECT pg_relation_filepath('float_adjustments') AS file"

layer(Ledger.layer, { excludeTestServices: true, timeout: 60_000 })("where a file is damaged", (it) => {
  it.effect("ledger verify names the table in one line, and finds what the other rules find", () =>
    Effect.gen(function* () {
      const { code, errors, verified } = yield* verifiedWith(ADJUSTMENTS)
      expect([code, verified.ok, errors]).toEqual([1, false, [expect.stringMatching(lineOf("table float_adjustments")), WRONG]])
      expect(wrongIn(verified)).toEqual(["positions_are_the_fold", "positions_are_the_fold", "keys_are_linked"])
      expect(unreadIn(verified)).toContain("adjustments_are_audited")
      expect(unreadIn(verified)).not.toContain("windows_are_counted")
    })
  )

  it.effect("ledger verify names an index beside its table, which may be whole", () =>
    Effect.gen(function* () {
      const { code, errors } = yield* verifiedWith("SELECT pg_relation_filepath('float_adjustments_pkey') AS file")
      expect([code, errors.slice(0, -1)]).toEqual([
        1,
        [expect.stringMatching(lineOf("float_adjustments_pkey of table float_adjustments"))]
      ])
    })
  )

  it.effect("ledger verify goes on where its walk through the journal ends", () =>
    Effect.gen(function* () {
      const { code, errors, verified } = yield* verifiedWith(`
        SELECT pg_relation_filepath(inhrelid) AS file FROM pg_inherits
        WHERE inhparent = 'journal'::regclass ORDER BY pg_relation_size(inhrelid) DESC LIMIT 1`)
      expect([code, errors]).toEqual([1, [expect.stringMatching(lineOf("table journal_\\w+"))]])
      expect(unreadIn(verified)).toContain("positions_are_the_fold")
      expect(unreadIn(verified)).not.toContain("windows_are_kept_long_enough")
    })
  )

  it.effect("ledger verify says it of changes, too, and takes nothing for checked", () =>
    Effect.gen(function* () {
      for (const look of ["first", "second"]) {
        const { code, errors, verified } = yield* verifiedWith(ADJUSTMENTS, "--changed")
        expect([look, code, errors]).toEqual([look, 1, [expect.stringMatching(lineOf("table float_adjustments")), WRONG]])
        expect(unreadIn(verified)).toContain("adjustments_are_audited")
      }
    })
  )

  it.effect("any other command says in one line what the database says of it", () =>
    Effect.gen(function* () {
      const audit = yield* (yield* Ledger).damaged("SELECT pg_relation_filepath('audit_log') AS file", "audit", "verify")
      expect(audit).toEqual({
        code: 1,
        errors: [expect.stringMatching(/: invalid page in block 0 of relation "[^"]+": see docs\/runbooks\/database-down.md$/)],
        output: ""
      })
    })
  )
})
