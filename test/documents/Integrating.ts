import { createHash } from "node:crypto"
import { describe, expect, it } from "vitest"
import { signature, stringToSign } from "../../clients/signing/sign.ts"
import { AmbiguousError } from "../../src/domain/errors/Ambiguous.ts"
import { RetriableError } from "../../src/domain/errors/Retriable.ts"
import { httpStatusByCode } from "../../src/http/api/Envelope.ts"
import { fileOf } from "../integrating/PageExamples.ts"
import { read } from "./Pages.ts"

describe("docs/integrating/errors.md", () => {
  const page = read("docs/integrating/errors.md")
  const rowsOf = (name: string) =>
    [
      ...(page.split(`\n## ${name}\n`)[1]?.split("\n## ")[0] ?? "").matchAll(
        /^\| `(\w+)` \| ([\d, ]+) \| .+ \| (\w+) \| .+ \|$/gm
      )
    ].map(([, code = "", status = "", key = ""]) => ({ code, status: Number(status.split(",")[0]), key }))
  const classes = { Retriable: RetriableError, Ambiguous: AmbiguousError }
  const codesOf = (union: { readonly members: ReadonlyArray<{ readonly identifier: string }> }): ReadonlyArray<string> =>
    union.members.map(({ identifier }) => identifier)

  it.each(["Terminal", "Retriable", "Ambiguous"] as const)("says of every %s code what to do", (name) => {
    const others = [...codesOf(RetriableError), ...codesOf(AmbiguousError)]
    const own =
      name === "Terminal" ? Object.keys(httpStatusByCode).filter((code) => !others.includes(code)) : codesOf(classes[name])
    const wanted = Object.entries(httpStatusByCode).filter(([code]) => own.includes(code) && code !== "malformed_request")
    expect(
      rowsOf(name)
        .map(({ code, status }) => [code, status])
        .toSorted()
    ).toEqual(wanted.toSorted())
    const keys = new Set(rowsOf(name).map(({ key }) => key))
    expect([...keys].toSorted()).toEqual(name === "Terminal" ? ["either", "new"] : ["same"])
  })
})

describe("the worked example of docs/integrating/signing.md", () => {
  const example = (name: string) => fileOf("signing", name).trimEnd()
  const key = JSON.parse(example("worked-key.json"))
  const request = {
    method: "GET",
    host: "127.0.0.1:8080",
    target: "/v1/transactions?status=successful&limit=2",
    timestamp: "1795000000",
    nonce: "n0nce-AAAABBBBCCCC",
    body: new Uint8Array()
  }
  const hex = (text: string) =>
    Buffer.from(text)
      .toString("hex")
      .replaceAll(/(..)(?!$)/g, "$1 ")

  it("is right to the byte", () => {
    const text = stringToSign(key, request)
    expect(example("string-to-sign")).toBe(text)
    expect(example("secret-bytes")).toBe(hex(key.signing_secret))
    const [begin = "", end = ""] = example("string-bytes").split(" … ")
    expect([hex(text).startsWith(begin), hex(text).endsWith(end)]).toEqual([true, true])
    expect(text.endsWith(createHash("sha256").digest("hex"))).toBe(true)
    expect(example("signature")).toBe(`X-Gateway-Signature: ${signature(key, request)}`)
  })
})
