import { Clock, Effect, Layer } from "effect"
import * as Workers from "../Workers.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { Installation } from "./Installation.ts"
import { placesOf, printPlaces, rememberManagement, untilStopped } from "./ServedPlaces.ts"

/** A signal that comes again after this ends everything at once. A terminal and npm may each pass on the first. */
const AGAIN_AFTER_MS = 1_000
/** What shells call an interrupt. */
const INTERRUPTED = 130

/** Runs the workers of this machine until a signal ends them; is itself no gateway. */
export const serveWithWorkers = Effect.fnUntraced(function* (workers: number) {
  const settings = yield* Installation.forServer
  const [tooFew] = Workers.tooFewFor(settings, workers)
  if (tooFew !== undefined) return yield* new CommandRefusal({ message: tooFew })
  const { at, kill, management } = yield* Workers.primary(settings, yield* Installation.build, workers)
  yield* Effect.addFinalizer(() => endAtNextSignal(kill))
  yield* rememberManagement(settings.dataDir, management)
  yield* printPlaces(at)
  return yield* untilStopped
})

/** One of the workers. What keeps it from starting is said by the process that has started it. */
export const serveAsWorker = Effect.fnUntraced(function* (slot: Workers.WorkerSlot) {
  const { gateway, giveUp, tellServed } = yield* Workers.workerGateway(slot)
  const serving = Effect.gen(function* () {
    const settings = yield* Installation.forWorker
    const context = yield* Layer.build(gateway(settings, yield* Installation.build))
    yield* tellServed(placesOf(settings, context))
    return yield* untilStopped
  })
  return yield* Effect.catch(serving, ({ message }) => giveUp(message.split("\n")))
})

const endAtNextSignal = Effect.fnUntraced(function* (kill: () => void) {
  const clock = yield* Clock.Clock
  const now = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  const told = now()
  const end = () => {
    if (now() - told < AGAIN_AFTER_MS) return
    kill()
    process.exit(INTERRUPTED)
  }
  process.on("SIGTERM", end)
  process.on("SIGINT", end)
})
