import { Effect } from "effect"
import type { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { NotFound } from "../../domain/errors/Terminal.ts"
import { Api } from "../Api.ts"
import { type ManualFile, readManual } from "../ManualFiles.ts"
import { errorResponse } from "../Response.ts"
import { CurrentRequest } from "../SignedRequest.ts"
import { type StaticText, sameOrigin, staticResponse, staticText } from "../StaticText.ts"

/** Nothing on a page runs or loads. */
const headers = {
  ...sameOrigin,
  "content-security-policy": "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer"
}

/** The manual without a signature. All files are read at the start. */
export const ManualHandlers = HttpApiBuilder.group(
  Api,
  "manual",
  Effect.fnUntraced(function* (handlers) {
    const find = library(yield* readManual())
    const serve = (path: string) =>
      Effect.map(CurrentRequest, ({ rawHeaders }): HttpServerResponse.HttpServerResponse => {
        const text = find(path)
        return text === undefined ? errorResponse(new NotFound()) : staticResponse(text, rawHeaders, headers)
      })
    return handlers
      .handleRaw("integrating", () => serve("/docs/integrating"))
      .handleRaw("integratingPage", ({ params }) => serve(`/docs/integrating/${params.page}`))
      .handleRaw("contract", () => serve("/docs/contract"))
      .handleRaw("contractPage", ({ params }) => serve(`/docs/contract/${params.page}`))
      .handleRaw("signing", ({ params }) => serve(`/docs/clients/signing/${params.file}`))
  })
)

/** Each file by its path, ready to be sent: a page also by the name of its file. */
const library = (files: ReadonlyArray<ManualFile>) => {
  const ready = new Map<string, StaticText>()
  const make = (path: string): StaticText | undefined => {
    const found = files.find((one) => one.path === path || `/${one.file}` === path)
    return found === undefined ? undefined : staticText(found.text, found.file.endsWith(".json") ? "application/json" : PLAIN)
  }
  return (path: string): StaticText | undefined => {
    const text = ready.get(path) ?? make(path)
    if (text !== undefined) ready.set(path, text)
    return text
  }
}

const PLAIN = "text/plain; charset=utf-8"
