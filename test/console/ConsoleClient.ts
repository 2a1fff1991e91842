import { Effect, Layer, Option } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { type GateSettings, makeGate } from "../../src/console/Gate.ts"
import { makeHandler, type Room } from "../../src/console/Handler.ts"
import { OperatorName, type OperatorRole } from "../../src/domain/Operator.ts"
import { AuditLogPg } from "../../src/persistence/audit/AuditLogPg.ts"
import { Database } from "../../src/persistence/Database.ts"
import { ConsoleSessionsPg } from "../../src/persistence/operators/ConsoleSessionsPg.ts"
import { OperatorsPg } from "../../src/persistence/operators/OperatorsPg.ts"
import { RandomSourceLive } from "../../src/persistence/vault/RandomSourceLive.ts"
import { VaultPg } from "../../src/persistence/vault/VaultPg.ts"
import { Operators } from "../../src/services/ports/Operators.ts"
import { SignIn } from "../../src/services/SignIn.ts"
import { asRuntime } from "../support/Postgres.ts"
import { auditEntry, givenDatabase, masterKey } from "../support/TestDatabase.ts"

/** Who is at the console, on a database of its own. */
export const access = Layer.unwrap(
  Effect.map(givenDatabase, (url) =>
    SignIn.layer.pipe(
      Layer.provideMerge(Layer.mergeAll(OperatorsPg, ConsoleSessionsPg, AuditLogPg)),
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(Layer.merge(Database.layer({ url: asRuntime(url) }), RandomSourceLive)),
      Layer.fresh
    )
  )
)

export interface Shown {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly form?: Readonly<Record<string, string>>
  /** The address that it comes from. */
  readonly from?: string
}

export const HOST = "127.0.0.1:8082"

/** The console's handler as a browser meets it, without a socket. Each `browser` has a cookie of its own. */
export const consoleOn = Effect.fnUntraced(function* (rooms: ReadonlyArray<Room>, settings: Partial<GateSettings> = {}) {
  const gate = makeGate({ host: "127.0.0.1", url: null, trustedProxies: [], ...settings })
  const handler = yield* makeHandler(gate, rooms)
  const send = (method: string, path: string, { form, from = "127.0.0.1", headers = {} }: Sent) =>
    Effect.gen(function* () {
      const body = form === undefined ? {} : { body: new URLSearchParams(form).toString() }
      const type = form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }
      const request = new Request(`http://${HOST}${path}`, { method, headers: { host: HOST, ...type, ...headers }, ...body })
      const answered = yield* Effect.provideService(
        handler,
        HttpServerRequest.HttpServerRequest,
        HttpServerRequest.fromWeb(request).modify({ remoteAddress: Option.some(from) })
      )
      const response = HttpServerResponse.toWeb(answered)
      const text = yield* Effect.promise(() => response.text())
      return { status: response.status, text, headers: response.headers } satisfies Shown
    })
  const browser = (from = "127.0.0.1") => {
    let cookie = ""
    const ask = Effect.fnUntraced(function* (method: string, path: string, sent: Sent = {}) {
      const shown = yield* send(method, path, {
        from,
        ...sent,
        headers: { ...(cookie === "" ? {} : { cookie }), ...sent.headers }
      })
      const set = shown.headers.get("set-cookie")
      if (set !== null) cookie = set.includes("Max-Age=0") ? "" : (set.split(";")[0] ?? "")
      return shown
    })
    const read = (path: string, headers: Readonly<Record<string, string>> = {}) => ask("GET", path, { headers })
    const own = { "sec-fetch-site": "same-origin", origin: `http://${HOST}` }
    return {
      ask,
      read,
      cookie: () => cookie,
      logIn: (name: string, token: string) => ask("POST", "/login", { headers: own, form: { name, token, next: "/" } }),
      /** Sends a form as the page at `from` has it. */
      submit: Effect.fnUntraced(function* (from: string, path: string, form: Readonly<Record<string, string>> = {}) {
        const token = /name="form_token" value="([0-9a-f]+)"/.exec((yield* read(from)).text)?.[1] ?? ""
        return yield* ask("POST", path, { headers: own, form: { form_token: token, ...form } })
      })
    }
  }
  return { send, browser }
})

/** A new operator's token. */
export const operatorOn = Effect.fnUntraced(function* (name: string, role: OperatorRole) {
  const signIn = yield* SignIn
  const { account, token } = yield* signIn.newAccount(OperatorName.make(name), role)
  yield* (yield* Operators).add(account, auditEntry({ action: "operator add", subject: name }))
  return token
})
