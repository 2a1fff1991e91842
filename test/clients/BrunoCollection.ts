import { createHash, createHmac, randomBytes } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { runInNewContext } from "node:vm"

const folder = join(import.meta.dirname, "../../clients/bruno")

export interface BrunoRequest {
  readonly name: string
  readonly method: string
  readonly url: string
  readonly body: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  /** Each a path into the answer, and what is expected of it, such as `eq 201`. */
  readonly assertions: ReadonlyArray<readonly [path: string, expected: string]>
  readonly afterwards: string
}

/** The blocks of a file, as `name {`, indented lines and `}`. */
const blocksOf = (file: string): ReadonlyMap<string, string> =>
  new Map(
    [...readFileSync(join(folder, file), "utf8").matchAll(/^([\w:-]+) \{\n([^]*?)^\}$/gm)].map(([, name = "", text = ""]) => [
      name,
      text.replaceAll(/^ {2}/gm, "")
    ])
  )

const pairsIn = (text = ""): ReadonlyArray<readonly [string, string]> =>
  [...text.matchAll(/^([^:\n]+): (.*)$/gm)].map(([, name = "", value = ""]) => [name, value])

const METHODS = ["get", "post", "put", "delete"]

const requestOf = (file: string): BrunoRequest & { readonly place: number } => {
  const blocks = blocksOf(file)
  const meta = new Map(pairsIn(blocks.get("meta")))
  const method = METHODS.find((one) => blocks.has(one)) ?? ""
  return {
    name: meta.get("name") ?? "",
    place: Number(meta.get("seq")),
    method: method.toUpperCase(),
    url: new Map(pairsIn(blocks.get(method))).get("url") ?? "",
    body: (blocks.get("body:json") ?? "").trimEnd(),
    headers: pairsIn(blocks.get("headers")),
    assertions: pairsIn(blocks.get("assert")),
    afterwards: blocks.get("script:post-response") ?? ""
  }
}

/** The requests of the collection in the order in which Bruno runs them. */
export const requests = (): ReadonlyArray<BrunoRequest> =>
  readdirSync(folder)
    .filter((file) => file.endsWith(".bru") && file !== "collection.bru")
    .map(requestOf)
    .toSorted((a, b) => a.place - b.place)

const beforeEach = blocksOf("collection.bru").get("script:pre-request") ?? ""

/** What the script uses of crypto-js, which Bruno brings along. */
const cryptoJs = {
  lib: { WordArray: { random: (bytes: number) => randomBytes(bytes).toString("hex") } },
  SHA256: (text: string) => createHash("sha256").update(text).digest("hex"),
  HmacSHA256: (text: string, key: string) => createHmac("sha256", key).update(text).digest("hex")
}

/** Runs requests as Bruno does: the collection's script, then what is still to be filled in, then the request and its own script. */
export const runner = (environment: Readonly<Record<string, string>>) => {
  const variables = new Map<string, string>()
  const filled = (text: string) =>
    text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name) => variables.get(name) ?? environment[name] ?? whole)
  const bru = {
    interpolate: filled,
    getEnvVar: (name: string) => environment[name],
    getVar: (name: string) => variables.get(name),
    setVar: (name: string, value: string) => void variables.set(name, value)
  }
  const modules = (name: string) => {
    if (name !== "crypto-js") throw new Error(`${name} is not among the libraries of Bruno`)
    return cryptoJs
  }
  return async (request: BrunoRequest): Promise<{ readonly status: number; readonly body: unknown }> => {
    const sent = { url: request.url, body: request.body, headers: new Map(request.headers) }
    const req = {
      getUrl: () => sent.url,
      setUrl: (url: string) => void (sent.url = url),
      getMethod: () => request.method,
      getBody: () => (sent.body === "" ? undefined : sent.body),
      setBody: (body: string) => void (sent.body = body),
      setHeader: (name: string, value: string) => void sent.headers.set(name, value)
    }
    runInNewContext(`(() => {\n${beforeEach}\n})()`, { bru, req, require: modules })
    const answer = await fetch(filled(sent.url), {
      method: request.method,
      headers: [
        ["Content-Type", "application/json"],
        ...[...sent.headers].map(([name, value]): [string, string] => [name, filled(value)])
      ],
      ...(sent.body === "" ? {} : { body: filled(sent.body) })
    })
    const body: unknown = await answer.json()
    runInNewContext(`(() => {\n${request.afterwards}\n})()`, { bru, res: { getBody: () => body } })
    return { status: answer.status, body }
  }
}
