import { describe, expect, it } from "vitest"
import { isListed } from "../../src/observability/Attributes.ts"
import { isNode, readSources, Source, type SyntaxNode } from "../support/Source.ts"

const annotating = /^annotate(Logs|Spans|CurrentSpan|LogsScoped|Traced)$/
const logging = /^log(Trace|Debug|Info|Warning|Error|Fatal)?$/
const spanning = /^(withSpan|inSpan|makeSpan|useSpan)$/

/** What cannot be followed to a name is an offence, too: nobody could say which names it holds. */
const UNKNOWN = "a name that cannot be found by reading the source"

const nodesOf = (value: unknown): ReadonlyArray<SyntaxNode> => (Array.isArray(value) ? value.filter(isNode) : [])
const nameOf = (value: unknown): string => (isNode(value) ? String(value["name"] ?? value["value"] ?? "") : "")

/** `Effect.annotateLogs` and `annotateLogs` are both called "annotateLogs". */
const calledOf = ({ callee }: SyntaxNode): string => {
  if (!isNode(callee)) return ""
  return callee.type === "MemberExpression" ? nameOf(callee["property"]) : nameOf(callee)
}

/** The names that an expression puts into an annotation. A plain name is looked up in its own file first, then in the others. */
const namesIn = (expression: unknown, sources: ReadonlyArray<Source>): ReadonlyArray<string> => {
  if (!isNode(expression)) return [UNKNOWN]
  const again = (next: unknown) => namesIn(next, sources)
  const declared = (name: string): ReadonlyArray<string> => {
    const declarators = sources.flatMap((source) => source.find("VariableDeclarator"))
    const found = declarators.find(({ id, init }) => nameOf(id) === name && isNode(init))
    return found === undefined ? [UNKNOWN] : again(found["init"])
  }
  switch (expression.type) {
    case "ObjectExpression":
      return nodesOf(expression["properties"]).flatMap((property) =>
        property.type === "SpreadElement" ? again(property["argument"]) : [nameOf(property["key"])]
      )
    case "ConditionalExpression":
      return [...again(expression["consequent"]), ...again(expression["alternate"])]
    case "ParenthesizedExpression":
    case "TSAsExpression":
      return again(expression["expression"])
    case "ArrowFunctionExpression":
      return again(expression["body"])
    case "BlockStatement":
      return nodesOf(expression["body"])
        .map((statement) => (statement.type === "IfStatement" ? statement["consequent"] : statement))
        .flatMap((statement) => (isNode(statement) && statement.type === "ReturnStatement" ? again(statement["argument"]) : []))
    case "Identifier":
      return declared(nameOf(expression))
    case "CallExpression": {
      const given = nodesOf(expression["arguments"])
      if (calledOf(expression) === "annotations") return given.flatMap(again)
      if (calledOf(expression) === "match")
        return nodesOf(given.at(-1)?.["properties"]).flatMap((branch) => again(branch["value"]))
      return declared(calledOf(expression))
    }
    default:
      return [UNKNOWN]
  }
}

/** Each name that leaves the process from this file, with its place. */
const namesLeaving = (source: Source, sources: ReadonlyArray<Source>) => {
  const known = [source, ...sources]
  return source.find("CallExpression").flatMap((call) => {
    const given = nodesOf(call["arguments"])
    const called = calledOf(call)
    const values = annotating.test(called)
      ? given.slice(-1)
      : logging.test(called)
        ? given.filter(({ type }) => type === "ObjectExpression")
        : spanning.test(called)
          ? given
              .flatMap(({ properties }) => nodesOf(properties))
              .flatMap((one) => (nameOf(one["key"]) === "attributes" ? nodesOf([one["value"]]) : []))
          : []
    return values.flatMap((value) => namesIn(value, known)).map((name) => ({ name, at: source.at(call.start) }))
  })
}

const offences = (sources: ReadonlyArray<Source>) =>
  sources
    .flatMap((source) => namesLeaving(source, sources))
    .filter(({ name }) => !isListed(name))
    .map(({ at, name }) => `${at} ${name}`)

/** A text that is always the same, wherever it is declared; or one of two of them. */
const isConstant = (expression: unknown, sources: ReadonlyArray<Source>): boolean => {
  if (!isNode(expression)) return false
  if (expression.type === "ConditionalExpression")
    return isConstant(expression["consequent"], sources) && isConstant(expression["alternate"], sources)
  if (expression.type !== "Identifier") return expression.type === "Literal" && typeof expression["value"] === "string"
  const declared = sources
    .flatMap((source) => source.find("VariableDeclarator"))
    .filter(({ id, init }) => nameOf(id) === nameOf(expression) && isNode(init))
  return declared.length > 0 && declared.every(({ init }) => isNode(init) && init.type === "Literal")
}

/** What is printed below a line, and is no part of its sentence. */
const isCause = (expression: SyntaxNode): boolean => {
  const { callee, property } = expression
  if (expression.type === "CallExpression") return isNode(callee) && nameOf(callee["object"]) === "Cause"
  return nameOf(expression) === "cause" || nameOf(property) === "cause"
}

/** Each line of the log that is not one sentence, with its place. */
const variedLines = (sources: ReadonlyArray<Source>) =>
  sources.flatMap((source) =>
    source
      .find("CallExpression")
      .filter((call) => isNode(call["callee"]) && nameOf(call["callee"]["object"]) === "Effect")
      .filter((call) => logging.test(calledOf(call)) || calledOf(call) === "logWithLevel")
      .filter((call) => {
        const [sentence, ...others] = nodesOf(call["arguments"])
        const known = source.find("VariableDeclarator").some(({ id }) => nameOf(id) === nameOf(sentence)) ? [source] : sources
        return !isConstant(sentence, known) || !others.every(isCause)
      })
      .map(({ end, start }) => `${source.at(start)} ${source.text.slice(start, end)}`)
  )

/** All but the one that makes annotations for others. */
const sources = readSources().filter(({ path }) => path.startsWith("src/") && path !== "src/runtime/Tracing.ts")

describe("a line of the log", () => {
  it("is a sentence that is always the same, so that it can be searched for and counted; what varies is an annotation", () => {
    expect(variedLines(sources)).toEqual([])
  })

  it.each([
    "Effect.logInfo(`${count} requests`)",
    'Effect.logInfo("request of " + name)',
    "Effect.logWarning(message)",
    'Effect.logError(isOne ? "one" : `not ${one}`)',
    'Effect.logError("painted", { colour })',
    'Effect.logError("painted", error)',
    'Effect.logWithLevel("Info", "painted")'
  ])("is found to be another one in %s", (line) => {
    expect(variedLines([new Source("src/Painting.ts", line)])).toEqual([`src/Painting.ts:1 ${line}`])
  })

  it("may have its sentence elsewhere, and a cause below it", () => {
    const text = 'const PAINTED = "painted"\nEffect.logInfo(isDry ? PAINTED : "wet", cause, exit.cause, Cause.fail(error))'
    expect(variedLines([new Source("src/Painting.ts", text)])).toEqual([])
  })
})

describe("the list of attributes", () => {
  it("has every name under which src annotates a log line or a span, so that an operator sees the value", () => {
    expect(sources.flatMap((source) => namesLeaving(source, sources)).length).toBeGreaterThan(50)
    expect(offences(sources)).toEqual([])
  })

  it("detects an unlisted name, however the annotation is written", () => {
    const text = `
const names = { colour: 1 }
const kept = (one: number) => ({ reference: one, ...(one > 1 ? { size: one } : {}) })
Effect.logInfo("painted").pipe(Effect.annotateLogs(names))
Effect.annotateLogs(Effect.logInfo("painted"), kept(2))
Effect.logError("no paint", { brush: 1 })
Effect.withSpan("paint", { attributes: { canvas: 1 } })
Effect.annotateCurrentSpan(somewhere)`
    expect(offences([new Source("src/Painting.ts", text)]).map((one) => one.replace(/^\S+ /, ""))).toEqual([
      "colour",
      "size",
      "brush",
      "canvas",
      UNKNOWN
    ])
  })
})
