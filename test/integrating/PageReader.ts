import { spawn } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { isTree } from "../../src/http/description/OpenApiSchemas.ts"
import { lasting } from "../support/ExecutedExamples.ts"
import { type Block, blocksOf, type Language, type PageStep, stepsOf } from "./PageExamples.ts"

/** What the reader has: the gateway, its simulator, a key, and a port that is free. */
export interface Given {
  readonly gateway: string
  readonly simulator: string
  readonly key: object
  readonly port: number
}

/** A reader waits a second where a test need not. */
const haste: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bsleep 1\b/g, "sleep 0.15"],
  [/time\.sleep\(1\)/g, "time.sleep(0.15)"],
  [/pause \* random\.uniform/g, "0.15 * random.uniform"],
  [/\bsleep\(1\)/g, "usleep(150000)"],
  [/\$pause \* random_int/g, "0.15 * random_int"]
]
/** Where the pages have the receiver listen; a test takes a port that is free. */
const RECEIVER = "127.0.0.1:9000"
const END = "@@ end of a step @@"
/** For what never comes: a busy machine takes many times as long as a quiet one. Less than what the tests wait. */
const AT_MOST_SECONDS = 220

/** Follows pages in one language, in an empty folder and one shell. Answers each step with what it printed. */
export const follow = async (
  language: Language,
  blocks: ReadonlyArray<Block>,
  given: Given
): Promise<ReadonlyArray<PageStep & { readonly printed: string }>> => {
  const folder = await mkdtemp(join(tmpdir(), "integrating-"))
  const mine = blocks.filter((block) => block.language === undefined || block.language === language)
  const adapted = (text: string) =>
    haste.reduce((changed, [pattern, by]) => changed.replaceAll(pattern, by), text.replaceAll(/\b9000\b/g, `${given.port}`))
  try {
    await writeFile(join(folder, "key.json"), JSON.stringify(given.key))
    // The page on webhooks comes later, and its function is needed earlier.
    for (const { file, text } of [...mine, ...blocksOf("webhooks").filter((block) => block.language === language)])
      if (file !== undefined) await writeFile(join(folder, file), adapted(text))
    const steps = stepsOf(mine)
    const script = steps.map(({ shell }) => `${adapted(shell)}\necho '${END}'\n`).join("")
    const { errors, output } = await inShell(`trap 'kill $(jobs -p) 2> /dev/null' EXIT\n${script}`, folder, given)
    const printed = output.split(`${END}\n`)
    if (printed.length !== steps.length + 1)
      throw new Error(`it stopped at "${steps[printed.length - 1]?.at}": ${output.slice(-2000)}\n${errors}`)
    return steps.map((step, at) => ({ ...step, printed: (printed[at] ?? "").replaceAll(`127.0.0.1:${given.port}`, RECEIVER) }))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const inShell = (script: string, cwd: string, { gateway, simulator }: Given) =>
  new Promise<{ readonly output: string; readonly errors: string }>((done) => {
    const PATH = `${dirname(process.execPath)}:${process.env["PATH"]}`
    const env = { PATH, GATEWAY: gateway, SIMULATOR: simulator }
    const child = spawn("timeout", [`${AT_MOST_SECONDS}`, "bash", "-c", script], { cwd, env, stdio: ["ignore", "pipe", "pipe"] })
    const [output, errors]: [Array<Buffer>, Array<Buffer>] = [[], []]
    child.stdout.on("data", (part) => output.push(part))
    child.stderr.on("data", (part) => errors.push(part))
    child.once("close", () => done({ output: `${Buffer.concat(output)}`, errors: `${Buffer.concat(errors)}` }))
  })

/** An answer without what differs from run to run, so that what a page shows and what was printed can be compared. */
export const comparable = (kind: string, text: string): unknown => {
  if (kind === "json") return withoutFloat(lasting(JSON.parse(text)))
  return text
    .trimEnd()
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<moment>")
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+\/checkout\/\w+/g, "<page>")
}

const withoutAvailable = (total: unknown): unknown => (isTree(total) ? { ...total, available_minor: null } : total)

/** What a quote says of the float depends on what was paid before. */
const withoutFloat = (answer: unknown): unknown => {
  const view = isTree(answer) ? answer["data"] : undefined
  if (!isTree(answer) || !isTree(view)) return answer
  if (Array.isArray(view["totals"])) return { ...answer, data: { ...view, totals: view["totals"].map(withoutAvailable) } }
  if (!("affordable" in view)) return answer
  const { available_minor: _, ...data } = view
  return { ...answer, data }
}
