import { Cause, Clock, Effect, Option, Redacted, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { h } from "preact"
import { may } from "../domain/Operator.ts"
import { pathPattern } from "../runtime/PathPattern.ts"
import { SignIn, type Visitor } from "../services/SignIn.ts"
import { consoleScript } from "./ConsoleScript.ts"
import { framed, type NavigationLink, plainDocument } from "./Document.ts"
import { field, hidden } from "./Elements.ts"
import { type Gate, isOwnForm, type Refused, readForm, strictHeaders, unstorable } from "./Gate.ts"
import { amountFilters } from "./ListFilters.ts"
import { type Answer, type CsvFile, page, ROUTE_PARAMETER, type Route } from "./Route.ts"
import { isWholeNumber } from "./SearchTerms.ts"
import { consoleStyle } from "./Stylesheet.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** A part of the console: its place in the menu, if it has one, and its routes. */
export interface Room {
  readonly place: NavigationLink | null
  readonly routes: ReadonlyArray<Route>
}

/**
 * Answers every request of the console. The order of the checks: host, origin of a change, session, form token, route,
 * permission. A page that fails is a 500 that does not reveal why.
 */
export const makeHandler = (gate: Gate, rooms: ReadonlyArray<Room>) =>
  Effect.gen(function* () {
    const signIn = yield* SignIn
    const routes = rooms.flatMap((room) =>
      room.routes.map((route) => ({ route, paramsOf: pathPattern(route.path, ROUTE_PARAMETER) }))
    )
    const links = rooms.flatMap(({ place }) => place ?? [])

    const logIn = Effect.fnUntraced(function* (request: Request, form: URLSearchParams) {
      const [name, token] = [form.get("name") ?? "", Redacted.make(form.get("token") ?? "")]
      const attempt = { name: name.trim(), token, ...gate.sender(request), replaces: gate.session(request) }
      const begun = yield* signIn.logIn(attempt)
      if (Option.isNone(begun)) return html(401, logInPage(name, localPath(form.get("next")), true))
      return redirectTo(localPath(form.get("next")), { "set-cookie": gate.cookieFor(begun.value) })
    })

    const logOut = Effect.fnUntraced(function* (visitor: Visitor) {
      yield* signIn.logOut(visitor)
      return redirectTo("/login?said=logged-out", { "set-cookie": gate.cookieFor(null) })
    })

    const visitorOf = Effect.fnUntraced(function* (request: Request) {
      const session = gate.session(request)
      // A page that refreshes itself does not keep a session alive.
      return session === null ? Option.none() : yield* signIn.visitor(session, request.headers["x-console-refresh"] === undefined)
    })

    /** For a person who is signed in. */
    const answerOf = Effect.fnUntraced(function* (request: Request, visitor: Visitor, form: URLSearchParams) {
      const { pathname: path, searchParams: query } = urlOf(request)
      const method = request.method === "HEAD" ? "GET" : request.method
      const shown = (answer: Answer) => {
        if (answer._tag === "Redirect") return redirectTo(answer.to)
        if (answer._tag === "CsvFile") return csvFile(answer)
        return html(answer.status, framed(answer, { path, links, visitor, notice: query.get("said") }))
      }
      const parts = path.split("/")
      for (const { paramsOf, route } of routes) {
        const params = route.method === method ? paramsOf(parts) : undefined
        if (params === undefined) continue
        if (!may(visitor.role, route.permission)) return shown(forbidden(visitor))
        const at = yield* Clock.currentTimeMillis
        return shown(yield* route.answer({ visitor, at, path, params, query, form }))
      }
      return shown(notFound)
    })

    const change = Effect.fnUntraced(function* (request: Request) {
      const origin = gate.foreignOrigin(request)
      if (origin !== undefined) return refusal(origin)
      const form = yield* readForm(request)
      const { pathname } = urlOf(request)
      if (pathname === "/login") return yield* logIn(request, form)
      const visitor = yield* visitorOf(request)
      if (Option.isNone(visitor)) return redirectTo("/login")
      if (!isOwnForm(visitor.value, form)) return refusal(staleForm)
      if (pathname === "/logout") return yield* logOut(visitor.value)
      return yield* answerOf(request, visitor.value, form)
    })

    const read = Effect.fnUntraced(function* (request: Request) {
      const { pathname, searchParams } = urlOf(request)
      const wrong = unstorable(searchParams)
      if (wrong !== undefined) return refusal(wrong)
      if (pathname === "/login") return html(200, logInPage("", localPath(searchParams.get("next")), false))
      const visitor = yield* visitorOf(request)
      if (Option.isNone(visitor)) return redirectTo(`/login?next=${encodeURIComponent(wayBack(urlOf(request)))}`)
      if (pathname === ALIVE) return HttpServerResponse.empty({ status: 204 })
      return yield* answerOf(request, visitor.value, new URLSearchParams())
    })

    const respond = Effect.fnUntraced(function* (request: Request) {
      const host = gate.foreignHost(request)
      if (host !== undefined) return refusal(host)
      const file = files[urlOf(request).pathname]
      if (file !== undefined) return file
      if (request.method === "POST") return yield* change(request)
      if (request.method === "GET" || request.method === "HEAD") return yield* read(request)
      return refusal({ status: 405, message: "The console does not know that method." })
    })

    return Effect.gen(function* () {
      return yield* respond(yield* HttpServerRequest.HttpServerRequest)
    }).pipe(
      Effect.catch((refused) => Effect.succeed(refusal(refused))),
      Effect.catchDefect((defect) =>
        Effect.as(
          Effect.logError("a page of the console could not be made", Cause.die(defect)),
          refusal({ status: 500, message: "The page could not be made. The log of the gateway says why." })
        )
      ),
      Effect.map((response) => HttpServerResponse.setHeaders(response, { ...strictHeaders, ...response.headers }))
    )
  })

/** The liveness check for pages that refresh: it looks up the visitor in the database, and reads nothing else. */
const ALIVE = "/alive"
const ORIGIN = "http://console"
/** A target that begins with two slashes is also a path, not another host. */
const urlOf = ({ url }: Request): URL => URL.parse(url.startsWith("/") ? `${ORIGIN}${url}` : url) ?? new URL(ORIGIN)

const html = (status: number, document: string): Response =>
  HttpServerResponse.text(document, { status, contentType: "text/html; charset=utf-8" })

const refusal = ({ message, status }: Refused): Response =>
  html(status, plainDocument("That did not work", [h("p", null, message), h("p", null, h("a", { href: "/" }, "To the console"))]))

const redirectTo = (to: string, headers: Readonly<Record<string, string>> = {}): Response =>
  HttpServerResponse.empty({ status: 303, headers: { location: to, ...headers } })

const csvFile = ({ name, text }: CsvFile): Response =>
  HttpServerResponse.stream(Stream.encodeText(text), {
    contentType: "text/csv; charset=utf-8; header=present",
    headers: { "content-disposition": `attachment; filename="${name}"` }
  })

/** Back to the page that was requested. A whole number must not be in an address, unless it is an amount. */
const wayBack = ({ pathname, search, searchParams }: URL): string => {
  const asked = [...searchParams].filter(([name]) => !amountNames.includes(name))
  return asked.flat().some(isWholeNumber) ? pathname : `${pathname}${search}`
}
const amountNames = Object.values(amountFilters).map(({ name }) => name)

/** A path inside the console, or the first page for anything else, so that no link can lead to another site. */
const localPath = (wished: string | null): string => (wished !== null && /^\/(?![/\\])[\x21-\x7e]*$/.test(wished) ? wished : "/")

const files: Readonly<Record<string, Response>> = {
  "/console.css": HttpServerResponse.text(consoleStyle, { contentType: "text/css; charset=utf-8" }),
  "/console.js": HttpServerResponse.text(consoleScript, { contentType: "text/javascript; charset=utf-8" })
}

const staleForm: Refused = { status: 403, message: "The form is of another log-in. Go back, read the page again, and repeat it." }

const forbidden = ({ role }: Visitor) =>
  page("You may not do that", h("p", null, `Your role, ${role}, does not allow it. An administrator can give you another one.`), {
    status: 403
  })

const notFound = page("There is no such page", h("p", null, "The address is wrong, or what it names is not there."), {
  status: 404
})

/** The same page for a wrong token, an unknown name and a locked one, so that it does not reveal which it was. */
const logInPage = (name: string, next: string, wasRefused: boolean): string =>
  plainDocument("Log in", [
    wasRefused
      ? h(
          "p",
          { class: "warning", role: "alert" },
          "The name or the token is wrong, or there were ten wrong ones. After ten, wait ten minutes."
        )
      : null,
    h(
      "section",
      { "aria-label": "Log in" },
      h(
        "form",
        { method: "post", action: "/login", class: "stacked" },
        hidden("next", next),
        field({ name: "name", label: "Name", value: name.slice(0, 40), isRequired: true, maxLength: 40 }),
        field({ name: "token", label: "Token", type: "password", isRequired: true, maxLength: 100 }),
        h("button", { type: "submit", class: "strong" }, "Log in")
      )
    ),
    h(
      "p",
      { class: "soft" },
      "A token comes from ",
      h("code", null, "gateway operator add"),
      ", once. Nobody can look it up again."
    )
  ])
