import { mkdtempSync } from "node:fs"
import { chmod, copyFile, open, stat } from "node:fs/promises"
import { join } from "node:path"
import { it, layer } from "@effect/vitest"
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
      const { run, server } = yield* holding(["acme"])
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

/** A server whose ledger is whole: these tenants have float. */
const holding = Effect.fnUntraced(function* (tenants: ReadonlyArray<string>) {
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
  for (const tenant of tenants) {
    yield* run("tenant", "create", tenant)
    yield* run("float", "credit", tenant, ...amount, "--external-id", "e")
  }
  expect(yield* run("ledger", "verify")).toMatchObject({ code: 0, errors: "" })
  return { run, server }
})

const fileOf = async (server: Member, query: string): Promise<string> => {
  const [row] = await server.sql(query)
  return join(server.folder, String(row?.["file"]))
}

/** Every page of it is half written from that one on, which is the first unless another is named. */
const spoil = async (server: Member, path: string, from = 0): Promise<void> => {
  await stop(server)
  await copyFile(path, join(server.folder, "kept"))
  const { size } = await stat(path)
  const file = await open(path, "r+")
  for (let at = from * PAGE; at < size; at += PAGE) await file.write(Buffer.alloc(PAGE / 2, 0xff), 0, PAGE / 2, at + PAGE / 2)
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

/** An entry beside those of the tenant that nothing caused: it has no adjustment, and its position knows nothing of it. */
const entryWithoutCause = (tenant: string, change: { readonly reference: string; readonly days: number }) => `
  INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, slot, phase, currencies, accounts, amounts)
  SELECT app_id, '${change.reference}', revision, mode, at - interval '${change.days} days', actor, fact, repeat('n', 1000), slot, phase, currencies,
    accounts, amounts FROM journal WHERE app_id = '${tenant}' ORDER BY reference DESC LIMIT 1`

it.live("a page that names the next tenant hides nothing of the tenants before it and behind it, once it is damaged", () =>
  Effect.gen(function* () {
    const { run, server } = yield* holding(["acme", "mike", "zulu"])
    const sql = (text: string) => Effect.promise(() => server.sql(text))
    for (const tenant of ["acme", "zulu"]) yield* sql(entryWithoutCause(tenant, { reference: "NOCAUSE", days: 0 }))
    // The first of the next tenant, by its name and by its time, is on the last page.
    for (let page = 1; page < 9; page += 1) yield* sql(entryWithoutCause("mike", { reference: `FILLED${page}`, days: 0 }))
    yield* sql(entryWithoutCause("mike", { reference: "0", days: 1 }))
    const found = Effect.map(run("ledger", "verify"), ({ output }) => {
      const { differences }: Verified = JSON.parse(output)
      const told = differences
        .filter(({ subject }) => /^(acme|zulu)\b/.test(subject))
        .map(({ rule, subject }) => `${rule} ${subject}`)
      return { told, unread: differences.filter(({ unread }) => unread).map(({ rule }) => rule) }
    })
    const whole = yield* found
    expect(whole.unread).toEqual([])
    expect(new Set(whole.told.map((line) => line.split("/", 1)[0]))).toEqual(
      new Set(["acme", "zulu"].flatMap((tenant) => [`positions_are_the_fold ${tenant}`, `entries_have_a_cause ${tenant}`]))
    )
    const file = yield* Effect.promise(() => fileOf(server, "SELECT pg_relation_filepath('journal_first') AS file"))
    yield* Effect.promise(() => spoil(server, file, 1))
    const damaged = yield* found
    expect(damaged.unread).toContain("positions_are_the_fold")
    expect(damaged.told).toEqual(whole.told)
  }).pipe(Effect.scoped)
)
