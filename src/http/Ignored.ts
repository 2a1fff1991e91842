import { HttpServerResponse } from "effect/http"

const LONGEST_HEADER = 1024

/** Names the members that were ignored in `X-Gateway-Ignored`; a name that no header can carry is shown as `?`. */
export const ignoredHeader =
  (paths: ReadonlyArray<string>) =>
  (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse =>
    paths.length === 0 ? response : HttpServerResponse.setHeader(response, "x-gateway-ignored", shown(paths))

const shown = (paths: ReadonlyArray<string>): string => {
  const names = paths.map((path) => path.replace(/[^A-Za-z0-9_.-]/g, "?"))
  const all = names.join(",")
  return all.length <= LONGEST_HEADER ? all : `${all.slice(0, LONGEST_HEADER - 4)},...`
}
