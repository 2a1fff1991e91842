import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { gateway } from "./Gateway.ts"

// Whoever goes on in spite of them comes no further than this.
const nowhere = { DATA_DIR: "/dev/null/nowhere" }
const DATABASE_URL = "postgres://gateway:pw-very-secret@127.0.0.1:1/gateway"

describe.each(["start", "demo"])("gateway %s", (command) => {
  it.effect("is for development: it refuses real providers and databases, names each of them, and names the command to use", () =>
    Effect.gen(function* () {
      const refused = (variables: Readonly<Record<string, string>>) =>
        Effect.map(gateway({ ...nowhere, ...variables }, command), ({ code, errors, output }) => [code, errors, output])
      const because = (names: string) => [
        1,
        `gateway ${command} is for development and makes a tenant with unbacked float, but ${names} is set: run gateway serve, or unset it`,
        ""
      ]
      expect(yield* refused({ DATABASE_URL })).toEqual(because("DATABASE_URL"))
      expect(yield* refused({ DATABASE_URL: "nonsense" })).toEqual(because("DATABASE_URL"))
      expect(yield* refused({ DATABASE_URL, ALLOW_SIMULATOR: "true" })).toEqual(because("DATABASE_URL"))
      expect(yield* refused({ EVERSEND_LIVE_CLIENT_ID: "id" })).toEqual(because("EVERSEND_LIVE_CLIENT_ID"))
      expect(yield* refused({ MTN_BASE_URL: "https://api.example", PAYSTACK_TEST_SECRET_KEY: "x", DATABASE_URL })).toEqual(
        because("DATABASE_URL, MTN_BASE_URL, PAYSTACK_TEST_SECRET_KEY")
      )
      expect(yield* refused({ REDIS_URL: "rediss://cache.example" })).toEqual(because("REDIS_URL"))
    })
  )
})

it.effect("gateway start works beside settings that are not of a real provider or database", () =>
  Effect.gen(function* () {
    const parts = { DATABASE_URL: " ", REDIS_URL: "redis://127.0.0.1:1", EVERSEND_BASE_URL: "", PUBLIC_HOSTS: "api.example" }
    expect((yield* gateway({ ...nowhere, ...parts }, "start")).errors).toContain("cannot make the folder /dev/null/nowhere")
  })
)
