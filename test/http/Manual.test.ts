import { tmpdir } from "node:os"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { readManual } from "../../src/http/ManualFiles.ts"
import { read } from "../documents/Pages.ts"
import { onEdge } from "../support/EdgeClient.ts"

const HOST = ["Host", "api.gateway.example"] as const
const files = await Effect.runPromise(readManual())

describe("the manual below /docs", () => {
  it(
    "is served without a signature, to its own origin only, and runs nothing",
    onEdge(async ({ ask }) => {
      expect(files.length).toBeGreaterThan(25)
      for (const { path } of files) {
        const answer = await ask("GET", path)
        expect([answer.status, answer.headers["cross-origin-resource-policy"]], path).toEqual([200, "same-origin"])
        expect(answer.headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; img-src data:;/)
        expect(answer.headers["content-security-policy"]).not.toContain("script")
        expect((await ask("GET", path, [HOST, ["Origin", "https://evil.example"]])).status, path).toBe(403)
      }
    })
  )

  it(
    "has each page as it is written, by the name of its file",
    onEdge(async ({ ask }) => {
      for (const { file, text } of files.filter((one) => one.file.endsWith(".md"))) {
        const answer = await ask("GET", `/${file}`)
        expect([answer.text, answer.headers["content-type"]], file).toEqual([text, "text/plain; charset=utf-8"])
      }
    })
  )

  it(
    "has the signing code and the vectors as they are in the repository",
    onEdge(async ({ ask }) => {
      for (const file of ["sign.py", "sign.php", "sign.ts", "sign.go", "Sign.java"]) {
        const answer = await ask("GET", `/docs/clients/signing/${file}`)
        expect(answer.text).toBe(read(`clients/signing/${file}`))
        expect(answer.headers["content-type"]).toBe("text/plain; charset=utf-8")
      }
      const vectors = await ask("GET", "/docs/integrating/signing-vectors.json")
      expect(JSON.parse(vectors.text).length).toBeGreaterThan(300)
    })
  )

  it(
    "answers the envelope for a page that is not there, whatever its name",
    onEdge(async ({ ask }) => {
      for (const path of ["/docs/integrating/none", "/docs/contract/..", "/docs/integrating/", "/docs/clients/signing/vectors"]) {
        const answer = await ask("GET", path)
        expect([answer.status, JSON.parse(answer.text).error.code], path).toEqual([404, "not_found"])
      }
      expect((await ask("POST", "/docs/integrating")).status).toBe(405)
    })
  )

  it("stops the start with the folder's name where it is not installed", async () => {
    const failure = await Effect.runPromise(Effect.flip(readManual(tmpdir())))
    expect(failure.message).toMatch(
      /^cannot read (docs|clients)\/\w+, which the gateway serves below \/docs \(ENOENT.*\); install/
    )
  })
})
