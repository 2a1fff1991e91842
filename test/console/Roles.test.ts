import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { consoleOf } from "../../src/ConfigConsole.ts"
import { reader } from "../../src/ConfigRules.ts"
import { makeRooms } from "../../src/console/Console.ts"
import type { Room } from "../../src/console/Handler.ts"
import { redirect } from "../../src/console/Route.ts"
import { OperatorName, OperatorRole } from "../../src/domain/Operator.ts"
import { consoleServices } from "../../src/Services.ts"
import { SignIn } from "../../src/services/SignIn.ts"
import { fake } from "../fakes/Fake.ts"
import { fakeGateway } from "../fakes/FakeGateway.ts"
import { consoleOn } from "./ConsoleClient.ts"

/** Everything that the console changes, and the least that somebody has to be for it. Whoever is more may do it as well. */
const changes: Readonly<Record<string, OperatorRole>> = {
  "/transactions": "viewer",
  "/transactions/:reference/raw": "support",
  "/transactions/:reference/ask": "support",
  "/transactions/:reference/acknowledge": "support",
  "/reviews/:reference/resolve": "support",
  "/unknown/act": "support",
  "/unknown/files": "support",
  "/unknown/files/propose": "support",
  "/proposals/:id/approve": "approver",
  "/proposals/:id/dismiss": "support",
  "/proposals/:id/issue": "support",
  "/webhooks/redeliver": "support",
  "/callbacks/:id/replay": "support",
  "/callbacks/:id/body": "support",
  "/callbacks/:id/close": "support",
  "/floats/:app/propose": "support",
  "/keys/:app/propose": "support",
  "/keys/:app/:key/revoke": "support",
  "/corridors/:country/:currency/:direction/:method/change": "support",
  "/tenants/:app/change": "support",
  "/providers/:provider/change": "support",
  "/senders/:app/set": "admin",
  "/senders/:app/remove": "admin"
}

const FORM_TOKEN = "f".repeat(64)
/** A session of somebody of each role, as a browser holds it. */
const sessions = new Map(OperatorRole.literals.map((role, place) => [`asha:0:${String(place).repeat(64)}`, role]))
const everybody = fake(SignIn, {
  visitor: (session) =>
    Effect.succeed(
      Option.map(Option.fromUndefinedOr(sessions.get(Redacted.value(session))), (role) => ({
        name: OperatorName.make(role),
        role,
        createdAt: 0,
        session,
        formToken: FORM_TOKEN
      }))
    )
})

const { approvalFrom } = consoleOf(reader({}, []), [], [])

layer(Layer.provideMerge(Layer.merge(consoleServices(approvalFrom), everybody), fakeGateway()))("what a role may do", (it) => {
  it.effect("is said of everything that the console changes", () =>
    Effect.gen(function* () {
      const all: ReadonlyArray<Room> = yield* makeRooms({ traceUrl: null })
      const routes = all.flatMap((room) => room.routes)
      const posts = routes.filter(({ method }) => method === "POST").map(({ path }) => path)
      expect(posts.sort()).toEqual(Object.keys(changes).sort())
      const gets = routes.filter(({ method, permission }) => method === "GET" && permission !== "look")
      expect(gets.map(({ path }) => path)).toEqual([])
    })
  )

  it.effect("is decided by the server for each request, and nothing is begun for whoever may not", () =>
    Effect.gen(function* () {
      const begun: Array<string> = []
      const rooms = (yield* makeRooms({ traceUrl: null })).map((room) => ({
        ...room,
        routes: room.routes.map((route) => ({
          ...route,
          answer: ({ visitor }: { readonly visitor: { readonly role: OperatorRole } }) =>
            Effect.sync(() => {
              begun.push(`${visitor.role} ${route.path}`)
              return redirect("/done")
            })
        }))
      }))
      const { send } = yield* consoleOn(rooms)
      const allowed: Array<string> = []
      for (const [session, role] of sessions)
        for (const [path, least] of Object.entries(changes)) {
          const isAllowed = OperatorRole.literals.indexOf(role) >= OperatorRole.literals.indexOf(least)
          if (isAllowed) allowed.push(`${role} ${path}`)
          const headers = { cookie: `console_session=${session}`, "sec-fetch-site": "same-origin" }
          const form = { form_token: FORM_TOKEN }
          const { status } = yield* send("POST", path.replaceAll(/:\w+/g, "any"), { headers, form })
          expect([role, path, status]).toEqual([role, path, isAllowed ? 303 : 403])
        }
      expect(begun).toEqual(allowed)
    })
  )
})
