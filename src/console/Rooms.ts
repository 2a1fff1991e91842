import { Effect } from "effect"
import type { Room } from "./Handler.ts"
import { makeHome } from "./pages/Home.ts"

/** Every part of the console, in the order of the menu. */
export const makeRooms = Effect.gen(function* (): Effect.fn.Return<ReadonlyArray<Room>, never, Effect.Services<typeof makeHome>> {
  return [yield* makeHome]
})
