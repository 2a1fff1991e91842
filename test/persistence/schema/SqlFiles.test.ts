import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { loadModule, parsePlPgSQLSync, parseSync, scanSync } from "libpg-query"
import { beforeAll, describe, expect, it } from "vitest"
import { checksumOfText, functionFiles, listedChecksums } from "../../../src/persistence/schema/FunctionFiles.ts"
import { checksumOf, isOfBase } from "../../../src/persistence/schema/Migration.ts"
import { Migrations } from "../../../src/persistence/schema/Migrations.ts"

const schema = resolve(import.meta.dirname, "../../../src/persistence/schema")
const filesOf = (folder: string) =>
  readdirSync(join(schema, folder)).map((file) => ({
    path: `${folder}/${file}`,
    name: file.replace(/\.sql$/, ""),
    text: readFileSync(join(schema, folder, file), "utf8")
  }))
const migrations = filesOf("migrations")
const functions = filesOf("functions")

const MAX_LINE = 160
const MAX_COMMENT_LINE = 140
/** Of a keyword, for PostgreSQL's scanner. */
const RESERVED = 4
/** Written as functions and values are. */
const LIKE_NAMES = new Set(["true", "false", "current_user", "session_user"])

/** What one file does not keep of how SQL is written here. */
const formatOf = (text: string): ReadonlyArray<string> => {
  const found = text.split("\n").flatMap((line, at) => {
    const indent = /^ */.exec(line)?.[0].length ?? 0
    return [
      [/\t/.test(line), "a tab"],
      [line.endsWith(" "), "spaces at the end"],
      [indent % 2 === 1, "an odd number of spaces before it"],
      [line.length > MAX_LINE, `more than ${MAX_LINE} characters`],
      [/^ *--/.test(line) && line.length > MAX_COMMENT_LINE, `a comment of more than ${MAX_COMMENT_LINE} characters`]
    ].flatMap(([isBroken, what]) => (isBroken === true ? [`line ${at + 1} has ${what}`] : []))
  })
  // Bodies of functions, too, and without the values of settings.
  const words = scanSync(text.replaceAll(/\$\w*\$|= on\b/g, " ")).tokens.filter(
    ({ keywordKind, text: word }) => keywordKind === RESERVED && word !== word.toUpperCase() && !LIKE_NAMES.has(word)
  )
  return [
    ...found,
    ...words.map(({ text: word }) => `${word} is a keyword, in capitals`),
    ...(/[^\n]\n$/.test(text) ? [] : ["it does not end with one line feed"]),
    ...(/\n\n\n/.test(text) ? ["two empty lines"] : [])
  ]
}

describe("the SQL of the schema", () => {
  beforeAll(loadModule)

  for (const { path, text } of [...migrations, ...functions]) {
    it(`${path} is read by PostgreSQL's own parsers, as it stands there`, () => {
      const { stmts = [] } = parseSync(text)
      expect(stmts.length).toBeGreaterThan(0)
      // The parser has no catalogue: an array of a table's rows is none of its types.
      expect(() => parsePlPgSQLSync(text.replaceAll(/\b\w+\[\](?=;)/g, "text[]"))).not.toThrow()
    })

    it(`${path} is formatted as all of them are`, () => {
      expect(formatOf(text)).toStrictEqual([])
    })
  }

  it("tells what is not formatted", () => {
    expect(formatOf("select 1;\n")).toStrictEqual(["select is a keyword, in capitals"])
    expect(formatOf(" SELECT 1;  \n\n\n")).toHaveLength(4)
  })
})

describe("the lists of the SQL files", () => {
  it("name every file", () => {
    const files = (list: ReadonlyArray<{ readonly name: string }>) => list.map(({ name }) => name).toSorted()
    expect(files(functions)).toStrictEqual(files(functionFiles))
    // One that only adds or drops indexes has none.
    const withText = Migrations.all.filter((one) =>
      isOfBase(one) ? one.sql !== "" : one.steps.some(({ form }) => form !== "index" && form !== "drop")
    )
    expect(files(migrations)).toStrictEqual(files(withText))
  })

  it("have the checksum of each file of functions: a text that was released keeps its place, and the next one comes after it", () => {
    const texts = Object.fromEntries(functionFiles.map(({ name, sql }) => [name, checksumOfText(sql).slice(0, 16)]))
    expect(listedChecksums).toStrictEqual(texts)
  })

  it("keep of each migration what databases have of it", () => {
    const kept = checksumOfText(
      Migrations.all
        .filter(({ name }) => name < "0038")
        .map((one) => `${one.name} ${checksumOf(one)}\n`)
        .join("")
    )
    expect(kept).toBe("d3f6eca0964385f7f75d77b86d6b691f4d09e2eaeed0bea366fe2f239c2d2a3c")
  })

  it("keep every text of a migration that was released", () => {
    expect(
      Object.fromEntries(migrations.map(({ name, text }) => [name, checksumOfText(text).slice(0, 16)]))
    ).toMatchInlineSnapshot(`
      {
        "0001_ledger": "e980209b014e47c7",
        "0002_requests": "3e6f7130186a4707",
        "0003_providers": "c6f07db4d9e6a3f1",
        "0004_webhooks": "4fac91ecba85db42",
        "0005_operators": "a195058f7a293793",
        "0010_apply_steps": "d75bebc7dd8ee979",
        "0011_console": "60e7efd58864df50",
        "0012_kept_proposals": "13557b3921722aec",
        "0013_callback_looks": "866def34db4d498e",
        "0015_provider_accounts": "8d8ad0633980e1da",
        "0016_float_bounds": "cda18520c65c1d72",
        "0017_callbacks": "b69f4fa8e3e4dc82",
        "0019_metadata_members": "f482b348322c4928",
        "0020_access": "d969c13c704e0423",
        "0021_clock_watch": "46a509c348e0a2a7",
        "0022_sealed_proposals": "4cb255acb93560f1",
        "0024_newer_event_types": "4e3dbed6bc843edb",
        "0025_corrections": "4e9371bfff1bad8f",
        "0026_revoked_keys": "855219a8d067f743",
        "0029_recipient_names": "bebdec4b5c5177fd",
        "0032_account_sweeps": "2b19b43714fce46c",
        "0033_senders": "97ec1dce10e897c3",
        "0038_functions": "095ee515fc94623e",
        "0040_denied_parties": "b0e187fd4fe3f183",
        "0043_branches_and_digests": "80496baf81cfa433",
        "0044_verification_progress": "f738614aab59ab7f",
        "0045_key_terms": "c74727299e14f75f",
        "0046_float_alerts": "2d0562038326ee58",
        "0048_amount_caps": "cc2319027341f876",
        "0049_found_by_number": "91b356ee9b52fc4a",
        "0050_named_endpoints": "df852eff1e4b2680",
        "0053_quote_candidates": "c94680751947fd7b",
        "0055_changes_checked": "d708b1a17fe3290a",
        "0056_provider_memory": "ef7ebe0854eac1a1",
        "0057_late_calls": "3c75bdca7a41d0bd",
        "0058_period_counts": "069c77d967e62923",
        "0062_configuration_proposals": "03f94aeee6c68b15",
        "0063_reconciliations": "871f7b62de6ea5e2",
        "0064_route_preferences": "3ee8697b3b76771e",
        "0065_seeded_networks": "bd34f47caf17b5e1",
        "0067_provider_switches": "6330a7198ec47f9b",
      }
    `)
  })
})
