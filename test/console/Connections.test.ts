import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { closed, idleConnection, rawHead, STRANGE } from "../support/RawHead.ts"
import { Stack } from "../support/Stack.ts"
import { consoleSocket } from "./ConsoleSocket.ts"

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0" }))("a connection of the console", (it) => {
  it.effect("holds no more connections than one address may, and keeps nobody at another one out", () =>
    Effect.gen(function* () {
      const { port } = consoleSocket((yield* Stack).gateway)
      const held = yield* Effect.forEach(Array.from({ length: 24 }), () => idleConnection(port))
      const [bytes = ""] = STRANGE
      expect(yield* rawHead(port, bytes)).toBe("")
      expect(yield* rawHead(port, bytes, "127.0.0.2")).toMatch(/^HTTP\/1\.1 400 /)
      yield* Effect.forEach(held, closed)
    })
  )

  it.effect("4. is kept between two requests for as long as one of the API, for the proxy in front of it", () =>
    Effect.gen(function* () {
      const { port } = consoleSocket((yield* Stack).gateway)
      const head = yield* rawHead(port, "GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "127.0.0.4")
      expect(head).toMatch(/^keep-alive: timeout=75\r?$/im)
    })
  )

  it.effect("gets no answer that a cache may keep, also of what Node would answer by itself", () =>
    Effect.gen(function* () {
      const { port } = consoleSocket((yield* Stack).gateway)
      for (const bytes of STRANGE) {
        const head = (yield* rawHead(port, bytes, "127.0.0.3")).toLowerCase()
        expect(head).toMatch(/^http\/1\.1 [2-4]/)
        expect(head).toContain("cache-control: no-store")
        expect(head).toContain("x-content-type-options: nosniff")
      }
    })
  )
})
