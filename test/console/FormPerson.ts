import { Effect } from "effect"
import type { OperatorRole } from "../../src/domain/Operator.ts"
import { SignIn } from "../../src/services/SignIn.ts"
import type { Gateway } from "../support/Stack.ts"
import { operatorOn } from "./ConsoleClient.ts"
import { originOf } from "./Person.ts"

/** A person with a browser that runs no script. */
export const personOn = Effect.fnUntraced(function* (gateway: Gateway, name: string, role: OperatorRole) {
  const token = yield* operatorOn(name, role).pipe(Effect.provide(SignIn.layer), Effect.provide(gateway.context))
  const origin = originOf(gateway)
  let cookie = ""
  const ask = (path: string, init: RequestInit = {}) =>
    Effect.promise(async () => {
      const headers = { ...(init.method === "POST" ? { "sec-fetch-site": "same-origin", origin } : {}), cookie }
      const answer = await fetch(`${origin}${path}`, { redirect: "manual", ...init, headers })
      cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? cookie
      return { status: answer.status, to: answer.headers.get("location") ?? "", text: await answer.text() }
    })
  yield* ask("/login", { method: "POST", body: new URLSearchParams({ name, token, next: "/" }) })
  const tokenOn = Effect.fnUntraced(function* (page: string) {
    return /name="form_token" value="([0-9a-f]+)"/.exec((yield* ask(page)).text)?.[1] ?? ""
  })
  return {
    read: (path: string) => ask(path),
    send: Effect.fnUntraced(function* (page: string, path: string, fields: ReadonlyArray<readonly [string, string]>) {
      const body = new URLSearchParams([["form_token", yield* tokenOn(page)], ...fields.map(([name, value]) => [name, value])])
      return yield* ask(path, { method: "POST", body })
    }),
    upload: Effect.fnUntraced(function* (path: string, fields: Readonly<Record<string, string | Blob>>) {
      const body = new FormData()
      body.set("form_token", yield* tokenOn("/unknown"))
      for (const [name, value] of Object.entries(fields)) body.set(name, value)
      return yield* ask(path, { method: "POST", body })
    })
  }
})

/** The words of a page. */
export const textOf = (page: string) => page.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ")
