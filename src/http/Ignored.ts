import { HttpServerResponse } from "effect/http"

const LONGEST_HEADER = 1024

/** Names the members that were ignored in `X-Gateway-Ignored`; a name that no header can carry is shown as `?`. */
export const ignoredHeader =
  (paths: Iterable<string>) =>
  (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
    const names = shown(paths)
    return names === "" ? response : HttpServerResponse.setHeader(response, "x-gateway-ignored", names)
  }

/** As many as fit; the walk over the body ends there. */
const shown = (paths: Iterable<string>): string => {
  let names = ""
  for (const path of paths) {
    names += `${names === "" ? "" : ","}${path.replace(/[^A-Za-z0-9_.-]/g, "?")}`
    if (names.length > LONGEST_HEADER) return `${names.slice(0, LONGEST_HEADER - 4)},...`
  }
  return names
}
