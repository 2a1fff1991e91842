import { spawnSync } from "node:child_process"
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { VECTORS_FILE, vectors, vectorsText } from "../../clients/signing/vectors.ts"
import file from "../http/signing-vectors.json" with { type: "json" }
import { onEdge } from "../support/EdgeClient.ts"
import { itWith } from "../support/Installed.ts"

const folder = join(import.meta.dirname, "../../clients/signing")
const scratch = mkdtempSync(join(tmpdir(), "signing-clients-"))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const scratchFile = (name: string, text: string): string => {
  writeFileSync(join(scratch, name), text)
  return join(scratch, name)
}

interface Language {
  readonly name: string
  /** Prints its version where the language is on this machine. */
  readonly probe: readonly [program: string, ...args: ReadonlyArray<string>]
  /** Reads requests from standard input and prints signatures. */
  readonly program: () => ReadonlyArray<string>
  /** Prints the headers of `POST url` with the body, one a line, by the function that tenants call. */
  readonly headers: (url: string, body: string) => ReadonlyArray<string>
}

const { app_id, api_key, key_id, signing_secret } = file
const key = { app_id, api_key, key_id, signing_secret }
const text = (value: unknown): string => JSON.stringify(value)

const languages: ReadonlyArray<Language> = [
  {
    name: "TypeScript",
    probe: [process.execPath, "--version"],
    program: () => [process.execPath, join(folder, "sign.ts")],
    headers: (url, body) => [
      process.execPath,
      scratchFile(
        "headers.ts",
        `import { signedHeaders } from ${text(join(folder, "sign.ts"))}
         for (const [name, value] of Object.entries(signedHeaders(${text(key)}, "POST", ${text(url)}, ${text(body)})))
           console.log(name + ": " + value)`
      )
    ]
  },
  {
    name: "Python",
    probe: ["python3", "--version"],
    program: () => ["python3", "-B", join(folder, "sign.py")],
    headers: (url, body) => [
      "python3",
      "-B",
      "-c",
      `import sys; sys.path.insert(0, ${text(folder)}); from sign import signed_headers
for name, value in signed_headers(${text(key)}, "POST", ${text(url)}, ${text(body)}.encode()).items(): print(name + ": " + value)`
    ]
  },
  {
    name: "PHP",
    probe: ["php", "--version"],
    program: () => ["php", join(folder, "sign.php")],
    headers: (url, body) => [
      "php",
      "-r",
      `require ${text(join(folder, "sign.php"))};
       foreach (Gateway\\signedHeaders(json_decode('${text(key)}', true), 'POST', '${url}', '${body}') as $name => $value) echo "$name: $value\\n";`
    ]
  },
  {
    name: "Go",
    probe: ["go", "version"],
    program: () => built("sign-go", "go", "build", "-o", join(scratch, "sign-go"), join(folder, "sign.go")),
    headers: (url, body) => {
      copyFileSync(join(folder, "sign.go"), join(scratch, "sign.go"))
      const caller = scratchFile(
        "headers.go",
        `package main
import ("fmt"; "os")
func init() {
  key := Key{AppID: ${text(app_id)}, KeyID: ${text(key_id)}, APIKey: ${text(api_key)}, SigningSecret: ${text(signing_secret)}}
  headers, err := SignedHeaders(key, "POST", ${text(url)}, []byte(${text(body)}))
  if err != nil { panic(err) }
  for name, value := range headers { fmt.Println(name + ": " + value) }
  os.Exit(0)
}
`
      )
      return built("headers-go", "go", "build", "-o", join(scratch, "headers-go"), join(scratch, "sign.go"), caller)
    }
  },
  {
    name: "Java",
    probe: ["javac", "-version"],
    program: () => java("Sign"),
    headers: (url, body) => java("Headers", url, body)
  }
]

const run = ([command = "", ...args]: ReadonlyArray<string>, input: string) =>
  spawnSync(command, args, {
    input,
    encoding: "utf8",
    maxBuffer: 1 << 24,
    env: { ...process.env, GOFLAGS: "-mod=mod", GO111MODULE: "off" }
  })

/** Compiling is what takes long in Java: both programs at once. */
const java = (program: string, ...args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const caller = scratchFile(
    "Headers.java",
    `public class Headers { public static void main(String[] arguments) {
      var key = new Sign.Key(${[app_id, key_id, api_key, signing_secret].map(text).join()});
      Sign.signedHeaders(key, "POST", arguments[0], arguments[1].getBytes()).forEach((name, value) -> System.out.println(name + ": " + value));
    } }`
  )
  built("Headers.class", "javac", "-d", scratch, join(folder, "Sign.java"), caller)
  return ["java", "-XX:TieredStopAtLevel=1", "-cp", scratch, program, ...args]
}

/** Compiles once for all tests of the file. */
const built = (output: string, ...compiler: ReadonlyArray<string>): ReadonlyArray<string> => {
  const compiled = existsSync(join(scratch, output)) ? { status: 0, stderr: "" } : run(compiler, "")
  if (compiled.status !== 0) throw new Error(compiled.stderr)
  return [join(scratch, output)]
}

describe("the published signing vectors", () => {
  it("are at least three hundred, and what the gateway computes", async () => {
    expect(await readFile(VECTORS_FILE, "utf8")).toBe(vectorsText())
    expect(vectors().length).toBeGreaterThanOrEqual(300)
  })

  it("have a different request and name each", () => {
    expect(new Set(vectors().map(({ name }) => name)).size).toBe(vectors().length)
    expect(new Set(vectors().map((vector) => text({ ...vector, name: "" }))).size).toBe(vectors().length)
  })
})

describe.each(languages.map((language) => [language.name, language] as const))("the signing file for %s", (_, language) => {
  const test = itWith(...language.probe)

  test("computes the signature of every vector", () => {
    const input = vectors().map((vector) => `${text({ ...vector, signature: "" })}\n`)
    const printed = run(language.program(), input.join(""))
    expect(printed.stderr).toBe("")
    expect(printed.stdout.trimEnd().split("\n")).toEqual(vectors().map(({ signature }) => signature))
  })

  test("prints no signature for a query that cannot be signed", () => {
    const [first] = vectors()
    for (const query of ["q=%z9", "q=%ed%a0%80"]) {
      const printed = run(language.program(), `${text({ ...first, target: `/v1/float?${query}` })}\n`)
      expect([printed.stdout, printed.status === 0], query).toEqual(["", false])
    }
  })

  // The gateway's clock stands still, and a signature may be 30 s ahead of it: it is set when the test starts, not when the file is read.
  test("makes headers that the gateway accepts", () =>
    onEdge(
      async (client) => {
        const body = '{"original_reference":"tx_1"}'
        const host = `127.0.0.1:${client.port}`
        const printed = run(language.headers(`http://${host}/v1/refunds?b=2&a=%7e`, body), "")
        expect(printed.stderr).toBe("")
        const headers = printed.stdout
          .trimEnd()
          .split("\n")
          .map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)] as const)
        const sent: ReadonlyArray<readonly [string, string]> = [
          ["Host", host],
          ["Content-Type", "application/json"],
          ["Idempotency-Key", "one"],
          ...headers
        ]
        const answer = await client.ask("POST", "/v1/refunds?b=2&a=%7e", sent, body)
        expect([answer.status, JSON.parse(answer.text).error?.code], answer.text).toEqual([
          501,
          "provider_capability_unsupported"
        ])
        expect((await client.ask("POST", "/v1/refunds?b=2&a=%7e", sent, `${body} `)).status).toBe(401)
      },
      { now: Date.now() }
    )())
})
