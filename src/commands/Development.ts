import { Effect } from "effect"
import * as App from "../App.ts"
import { Refusal } from "./Refusal.ts"

/** Refuses, before anything is read or begun, to run a command that makes a tenant with unbacked float beside anything real. */
export const forDevelopment =
  (command: string) =>
  <A, E, R>(run: Effect.Effect<A, E, R>): Effect.Effect<A, E | Refusal, R> =>
    Effect.gen(function* () {
      const parts = yield* App.realParts
      if (parts.length === 0) return yield* run
      return yield* new Refusal({
        message: `gateway ${command} is for development and makes a tenant with unbacked float, but ${parts.join(", ")} is set: run gateway serve, or unset it`
      })
    })
