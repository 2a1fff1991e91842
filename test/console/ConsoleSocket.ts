import { request } from "node:http"
import { Context, Effect } from "effect"
import { ConsoleAddress } from "../../src/console/ConsoleAddress.ts"
import type { OperatorRole } from "../../src/domain/Operator.ts"
import { SignIn } from "../../src/services/SignIn.ts"
import type { Gateway } from "../support/Stack.ts"
import { operatorOn } from "./ConsoleClient.ts"

export interface Page {
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly form?: Readonly<Record<string, string>>
}

/** The console of a gateway over its socket: the path goes out as it is written, without being resolved. */
export const consoleSocket = ({ context }: Gateway) => {
  const port = Context.get(context, ConsoleAddress).at?.port ?? 0
  const origin = `http://127.0.0.1:${port}`
  const ask = (method: string, path: string, { form, headers = {} }: Sent = {}) =>
    Effect.promise(
      () =>
        new Promise<Page>((resolve, reject) => {
          const body = form === undefined ? "" : new URLSearchParams(form).toString()
          const type = form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }
          const sent = { ...type, "content-length": String(Buffer.byteLength(body)), ...headers }
          const call = request({ port, host: "127.0.0.1", method, path, headers: sent, agent: false }, async (response) => {
            let text = ""
            for await (const chunk of response.setEncoding("utf8")) text += chunk
            resolve({ status: response.statusCode ?? 0, text, headers: response.headers })
          })
          call.on("error", reject).end(body)
        })
    )

  const newToken = (name: string, role: OperatorRole) =>
    operatorOn(name, role).pipe(Effect.provide(SignIn.layer), Effect.provide(context))

  /** Somebody who is logged in. */
  const logIn = Effect.fnUntraced(function* (name: string, token: string) {
    const entered = yield* ask("POST", "/login", { form: { name, token }, headers: { origin } })
    const cookie = String(entered.headers["set-cookie"]).split(";")[0] ?? ""
    const read = (path: string) => ask("GET", path, { headers: { cookie } })
    const form_token = /name="form_token" value="([0-9a-f]+)"/.exec((yield* read("/floats")).text)?.[1] ?? ""
    const send = (path: string, form: Readonly<Record<string, string>> = {}) =>
      ask("POST", path, { headers: { cookie, origin }, form: { form_token, ...form } })
    return { read, send, cookie }
  })

  /** Somebody new, who is logged in. */
  const enter = (name: string, role: OperatorRole) => Effect.flatMap(newToken(name, role), (token) => logIn(name, token))

  return { port, origin, ask, newToken, logIn, enter }
}
