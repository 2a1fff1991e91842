import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, describe, expect } from "vitest"
import { itWith } from "../support/Installed.ts"
import { delivery, dispatched, newSecret, receiver } from "../support/WebhookReceiver.ts"
import { fileOf } from "./PageExamples.ts"

const folder = mkdtempSync(join(tmpdir(), "verifiers-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A program around the page's function: reads deliveries, one a line, and prints for each whether it verifies. */
const goProgram = `package main
import ("bufio"; "encoding/base64"; "fmt"; "os"; "strings")
func main() {
  lines := bufio.NewScanner(os.Stdin)
  for lines.Scan() {
    field := strings.Split(lines.Text(), "\\t")
    headers := map[string]string{"webhook-id": field[1], "webhook-timestamp": field[2], "webhook-signature": field[3]}
    body, _ := base64.StdEncoding.DecodeString(field[4])
    fmt.Println(Verify(field[0], func(name string) string { return headers[name] }, body) == nil)
  }
}
`
const javaProgram = `import java.util.*;
public class Deliveries { public static void main(String[] none) {
  var lines = new Scanner(System.in);
  while (lines.hasNextLine()) {
    String[] field = lines.nextLine().split("\\t");
    var headers = Map.of("webhook-id", field[1], "webhook-timestamp", field[2], "webhook-signature", field[3]);
    try { Webhook.verify(field[0], headers::get, Base64.getDecoder().decode(field[4])); System.out.println(true); }
    catch (Exception refused) { System.out.println(false); }
  }
} }
`

const run = (input: string, program: string, ...args: ReadonlyArray<string>): string => {
  const { status, stderr, stdout } = spawnSync(program, args, {
    cwd: folder,
    input,
    encoding: "utf8",
    env: { ...process.env, GO111MODULE: "off" }
  })
  if (status !== 0) throw new Error(`${program}: ${stderr}`)
  return stdout
}

/** Characters of two, three and four bytes, one of them in two ways, and a line end that is none in JSON. */
const MULTIBYTE = '{"narration":"th\u00e9 the\u0301 商店 💸 \u2028"}'

/** Real deliveries with two signatures each, and what makes each of them false. */
const deliveries = Effect.fnUntraced(function* (body?: string) {
  const { received, url } = yield* receiver((response) => response.writeHead(204).end())
  const [secret, previousSecret] = [newSecret(), newSecret()]
  yield* dispatched([delivery(url, secret, { previousSecret, ...(body === undefined ? {} : { body }) })])
  const [one] = received
  if (one === undefined) return yield* Effect.die("nothing came")
  const [id = "", sent = "", signatures = ""] = ["id", "timestamp", "signature"].map(
    (name) => `${one.headers[`webhook-${name}`]}`
  )
  const line = (given: string, ...fields: ReadonlyArray<string>) =>
    [given, ...fields.slice(0, 3), Buffer.from(fields[3] ?? "").toString("base64")].join("\t")
  return [
    [line(secret, id, sent, signatures, one.body), true],
    [line(previousSecret, id, sent, signatures, one.body), true],
    [line(newSecret(), id, sent, signatures, one.body), false],
    [line(secret, "another", sent, signatures, one.body), false],
    [line(secret, id, `${Number(sent) - 400}`, signatures, one.body), false],
    [line(secret, id, sent, signatures, `${one.body} `), false],
    // The same text of other bytes is another text.
    ...(body === undefined ? [] : [[line(secret, id, sent, signatures, one.body.normalize("NFC")), false] as const])
  ] as const
})

const verifies = async (verify: (lines: string) => string) => {
  const cases = await Effect.runPromise(Effect.scoped(Effect.all([deliveries(), deliveries(MULTIBYTE)]))).then((all) =>
    all.flat()
  )
  const printed = verify(cases.map(([line]) => `${line}\n`).join(""))
  expect(printed).toBe(cases.map(([, genuine]) => `${genuine}\n`).join(""))
}

describe("what docs/integrating/webhooks.md shows verifies real deliveries and no forged one", () => {
  itWith("go", "version")("in Go", () => {
    writeFileSync(join(folder, "webhook.go"), fileOf("webhooks", "webhook.go"))
    writeFileSync(join(folder, "main.go"), goProgram)
    run("", "go", "build", "-o", "deliveries", "webhook.go", "main.go")
    return verifies((lines) => run(lines, join(folder, "deliveries")))
  })

  itWith("javac", "-version")("in Java", () => {
    writeFileSync(join(folder, "Webhook.java"), fileOf("webhooks", "Webhook.java"))
    writeFileSync(join(folder, "Deliveries.java"), javaProgram)
    run("", "javac", "Webhook.java", "Deliveries.java")
    return verifies((lines) => run(lines, "java", "-XX:TieredStopAtLevel=1", "Deliveries"))
  })
})
