import { spawnSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { AmbiguousError } from "../../src/domain/errors/Ambiguous.ts"
import { RetriableError } from "../../src/domain/errors/Retriable.ts"
import { httpStatusByCode } from "../../src/http/api/Envelope.ts"
import { isTree } from "../../src/http/description/OpenApiSchemas.ts"
import vectors from "../http/signing-vectors.json" with { type: "json" }
import { closedDescription } from "../support/InterfaceDescription.ts"
import { breaches, resolved } from "../support/JsonSchema.ts"
import { Source } from "../support/Source.ts"
import { contract, examples, exists, found, prose, read, rulesOf } from "./Pages.ts"

const rules = contract.flatMap(rulesOf)
const prefixes = [...new Set(rules.map(({ number }) => number.split("-")[0]))].join("|")

interface Texts {
  readonly whole: ReadonlySet<string>
  readonly composed: ReadonlyArray<string>
}
const texts = new Map<string, Texts>()

/** Every text in a test file that can be a title; of one that is composed, the text as it is written. */
const textsIn = (file: string): Texts => {
  const known = texts.get(file)
  if (known !== undefined) return known
  const source = new Source(file, read(file))
  const whole = source.find("Literal").flatMap(({ value }) => (typeof value === "string" ? [value] : []))
  const templates = source.find("TemplateLiteral").map(({ end, start }) => source.text.slice(start + 1, end - 1))
  const own = { whole: new Set([...whole, ...templates]), composed: templates.filter((text) => text.includes("${")) }
  texts.set(file, own)
  return own
}

const missingTests = (file: string, titles: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (!exists(file)) return [file]
  const { composed, whole } = textsIn(file)
  return titles
    .filter((title) => !whole.has(title) && !composed.some((text) => text.includes(title)))
    .map((title) => `${file}: ${title}`)
}

describe("the contract's rules", () => {
  it("have one number each, rising within their prefix", () => {
    const numbers = rules.map(({ number }) => number)
    expect(rules.length).toBeGreaterThan(250)
    expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([])
    const fallen = rules.filter(({ number, page }, at) => {
      const [prefix = "", own] = number.split("-")
      const before = rules.slice(0, at).findLast((rule) => rule.page === page && rule.number.startsWith(`${prefix}-`))
      return before !== undefined && Number(before.number.split("-")[1]) >= Number(own)
    })
    expect(fallen.map(({ number }) => number)).toEqual([])
    const pagesOf = new Map(rules.map(({ number }) => [number.split("-")[0], new Set<string>()]))
    for (const { number, page } of rules) pagesOf.get(number.split("-")[0])?.add(page)
    expect([...pagesOf].filter(([, where]) => where.size > 1).map(([prefix]) => prefix)).toEqual([])
  })

  it("are each on the page whose anchor they have", () => {
    const written = contract.flatMap((page) => [...prose(read(page)).matchAll(/^- <a id=/gm)])
    expect(written.length).toBe(rules.length)
  })

  it("have a test each", () => {
    const untested = rules.filter(({ tests }) => tests.length === 0).map(({ number }) => number)
    expect(untested).toEqual([])
  })

  it("name only tests that there are", () => {
    const absent = rules.flatMap(({ number, tests }) =>
      tests.flatMap(({ file, titles }) =>
        (titles.length === 0 ? [`${file}: no title`] : missingTests(file, titles)).map((test) => `${number}: ${test}`)
      )
    )
    expect(absent).toEqual([])
  })

  it("exist wherever a page, the code or a test names one", () => {
    const known = new Set(rules.map(({ number }) => number))
    const named = new RegExp(`(?<![\\w-])(?:${prefixes})-\\d+(?![\\w-])`, "g")
    const files = [...found("{src,test,bench}/**/*.ts"), ...found("docs/**/*.md"), "README.md", "SECURITY.md", "CONTRIBUTING.md"]
    const strangers = files.flatMap((file) =>
      [...read(file).matchAll(named)].filter(([number]) => !known.has(number)).map(([number]) => `${file}: ${number}`)
    )
    expect(strangers).toEqual([])
  })
})

describe("the contract's table of errors", () => {
  const classes = { Retriable: RetriableError, Ambiguous: AmbiguousError }
  const section = (name: string) =>
    read("docs/contract/envelope-and-errors.md").split(`\n### ${name}\n`)[1]?.split("\n#")[0] ?? ""
  const rowsOf = (name: string) =>
    [...section(name).matchAll(/^\| (`[^|]+`) \| (\d+)/gm)].flatMap(([, codes = "", status]) =>
      [...codes.matchAll(/`(\w+)`/g)].map(([, code = ""]) => [code, Number(status)])
    )

  it.each(["Terminal", "Retriable", "Ambiguous"] as const)("has every %s code with its status", (name) => {
    const codesOf = (union: { readonly members: ReadonlyArray<{ readonly identifier: string }> }) =>
      union.members.map(({ identifier }) => identifier)
    const others = [...codesOf(RetriableError), ...codesOf(AmbiguousError)]
    const own =
      name === "Terminal" ? Object.keys(httpStatusByCode).filter((code) => !others.includes(code)) : codesOf(classes[name])
    const wanted = Object.entries(httpStatusByCode)
      // The same code as `validation_failed`, and named in its row.
      .filter(([code]) => own.includes(code) && code !== "malformed_request")
    expect(rowsOf(name).toSorted()).toEqual(wanted.toSorted())
  })
})

describe("the contract's examples", () => {
  const answers = contract.flatMap((page) =>
    examples(read(page), "json").flatMap((text) => {
      const value: unknown = JSON.parse(text)
      return isTree(value) && "code" in value && "message" in value ? [{ page, value }] : []
    })
  )

  it("are responses as the OpenAPI description says", () => {
    const document = closedDescription()
    const paths = resolved(document, "#/paths")
    const operations = Object.entries(isTree(paths) ? paths : {})
      // `/openapi.json` answers any object.
      .filter(([path]) => /^\/(v1|health)/.test(path))
      .flatMap(([, path]) => Object.values(isTree(path) ? path : {}))
    const responsesTo = (status: unknown) =>
      operations.filter(isTree).flatMap((operation) => {
        const schema = resolved(operation, `#/responses/${String(status)}/content/application~1json/schema`)
        return schema === undefined ? [] : [schema]
      })
    const strange = answers.filter(
      ({ value }) => !responsesTo(value["code"]).some((schema) => breaches(document, schema, value).length === 0)
    )
    expect(answers.length).toBeGreaterThan(10)
    expect(strange).toEqual([])
  })

  it("compute the signature of every accepted vector", () => {
    const [lines = ""] = examples(read("docs/contract/signing.md"), "js")
    const cases = vectors.vectors
      .filter(({ verdict }) => verdict === "accepted")
      .map(({ request: { body_base64, headers, host, method, target } }) => ({
        request: { method, host, target, timestamp: headers["X-Gateway-Timestamp"], nonce: headers["X-Gateway-Nonce"] },
        body: body_base64,
        signature: headers["X-Gateway-Signature"]
      }))
    const program = [
      lines,
      `const key = ${JSON.stringify({ app_id: vectors.app_id, key_id: vectors.key_id, signing_secret: vectors.signing_secret })}`,
      `const cases = ${JSON.stringify(cases)}`,
      'const made = cases.map(({ request, body }) => signature(key, { ...request, body: Buffer.from(body, "base64") }))',
      "console.log(JSON.stringify(made))"
    ].join("\n")
    const { stderr, stdout } = spawnSync(process.execPath, ["--input-type=module", "-"], { input: program, encoding: "utf8" })
    expect(stderr).toBe("")
    expect(JSON.parse(stdout)).toEqual(cases.map(({ signature }) => signature))
  })
})
