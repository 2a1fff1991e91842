import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { NotFound } from "../../domain/errors/Terminal.ts"
import { successEnvelope } from "../api/Envelope.ts"
import { CurrentRequest } from "../api/SignedRequest.ts"
import { type ManualFile, readManual, writtenPathsOf } from "../description/ManualFiles.ts"
import { servedMarkdown } from "../description/ManualLinks.ts"
import { manualScript, manualStyle } from "../description/ManualLook.ts"
import { manualPage } from "../description/ManualPage.ts"
import { type SearchIndex, searchIndex, searchPage } from "../description/ManualSearch.ts"
import { interfaceDescription } from "../description/OpenApiDescription.ts"
import { type StaticText, sameOrigin, sourceHash, staticResponse, staticText } from "../description/StaticText.ts"
import { handlersOf } from "../edge/Endpoints.ts"
import { errorResponse, httpResponse } from "../edge/Response.ts"

/** A page may use its own style and script, and call its own origin for a search; nothing else. */
const headers = {
  ...sameOrigin,
  "content-security-policy": `default-src 'none'; style-src ${sourceHash(manualStyle)}; script-src ${sourceHash(manualScript)}; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer"
}

/** The manual, readable without a signature. All files are read at the start; a page is rendered on its first request. */
export const manualHandlers = Effect.gen(function* () {
  const files = yield* readManual()
  const find = library(files)
  const serve = (path: string) =>
    Effect.map(CurrentRequest, ({ rawHeaders }): HttpServerResponse.HttpServerResponse => {
      const text = find(path)
      return text === undefined ? errorResponse(new NotFound()) : staticResponse(text, rawHeaders, headers)
    })
  return handlersOf("manual", {
    integrating: () => serve("/docs/integrating"),
    integratingMarkdown: () => serve("/docs/integrating.md"),
    integratingPage: ({ params }) => serve(`/docs/integrating/${params.page}`),
    contract: () => serve("/docs/contract"),
    contractMarkdown: () => serve("/docs/contract.md"),
    contractPage: ({ params }) => serve(`/docs/contract/${params.page}`),
    clients: () => serve(CLIENTS),
    client: ({ params }) => serve(`/docs/clients/${params.client}`),
    clientFile: ({ params }) => serve(`/docs/clients/${params.client}/${params.file}`),
    clientSource: ({ params: { client, file, folder } }) => serve(`/docs/clients/${client}/${folder}/${file}`),
    search: ({ query }) => Effect.sync(() => httpPage(searchPage(indexOf(files), query.q ?? ""))),
    home: () => Effect.succeed(home)
  })
})

/** Shared by all gateways of a process. */
let index: SearchIndex | undefined
const indexOf = (files: ReadonlyArray<ManualFile>): SearchIndex => (index ??= searchIndex(files, interfaceDescription()))

const httpPage = (text: string) =>
  HttpServerResponse.text(text, { contentType: HTML, headers: { ...headers, "cache-control": "no-store" } })

const HTML = "text/html; charset=utf-8"
const CLIENTS = "/docs/clients.tar"

/** Redirects a browser at the gateway's address to the manual; like every other path it answers with an envelope. */
const home = httpResponse(successEnvelope(302, { docs: "/docs", integrating: "/docs/integrating", openapi: "/openapi.json" }), {
  ...sameOrigin,
  location: "/docs"
})

/** Each file by its path, ready to send: rendered as a page, and under its file name as Markdown. */
const library = (files: ReadonlyArray<ManualFile>) => {
  const ready = new Map<string, StaticText>()
  const make = (path: string): StaticText | undefined => {
    if (path === CLIENTS) return staticText(tarArchive(clientsIn(files)), "application/x-tar")
    const page = files.find((one) => one.path === path)
    const written = files.find((one) => writtenPathsOf(one).includes(path))
    if (page?.file.endsWith(".md")) return staticText(manualPage(page, files), HTML)
    if (written?.file.endsWith(".md")) return staticText(servedMarkdown(written, files), PLAIN)
    const { file, text } = page ?? written ?? {}
    return text === undefined ? undefined : staticText(text, file?.endsWith(".json") ? "application/json" : PLAIN)
  }
  return (path: string): StaticText | undefined => {
    const text = ready.get(path) ?? make(path)
    if (text !== undefined) ready.set(path, text)
    return text
  }
}

const clientsIn = (files: ReadonlyArray<ManualFile>) =>
  files.filter(({ file }) => file.startsWith("clients/")).map(({ file, text }) => ({ name: file, text }))

const PLAIN = "text/plain; charset=utf-8"

const BLOCK = 512

interface ArchivedFile {
  /** Without a leading slash, at most 100 bytes. */
  readonly name: string
  readonly text: string
}

/** The files as a tar archive in the format that POSIX calls ustar. The same files give the same bytes. */
const tarArchive = (files: ReadonlyArray<ArchivedFile>): Uint8Array =>
  Buffer.concat([
    ...files.flatMap(({ name, text }) => {
      const bytes = Buffer.from(text)
      return [headerOf(name, bytes.length), bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)]
    }),
    Buffer.alloc(2 * BLOCK)
  ])

/** Name, mode, owner, size and time, numbers as octal text; the checksum counts its own field as spaces. */
const headerOf = (name: string, size: number): Uint8Array => {
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`
  const fields = (checksum: string) =>
    [name.padEnd(100, "\0"), octal(0o644, 7), octal(0, 7), octal(0, 7), octal(size, 11), octal(0, 11), checksum, "0"].join("")
  const header = (checksum: string) => Buffer.from(`${fields(checksum).padEnd(257, "\0")}ustar\x0000`.padEnd(BLOCK, "\0"))
  const sum = header(" ".repeat(8)).reduce((total, byte) => total + byte, 0)
  return header(`${sum.toString(8).padStart(6, "0")}\0 `)
}
