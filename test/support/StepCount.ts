import { type Profiler, Session } from "node:inspector"

/**
 * How many steps a computation takes: how often a function is entered, ours and every library's, counted by the engine itself.
 * Unlike a time it is the same on every machine. Nothing else runs meanwhile: the inspector answers at once.
 */
export const stepsOf = (work: () => unknown): number => {
  const session = new Session()
  session.connect()
  const taken: Array<Profiler.TakePreciseCoverageReturnType> = []
  const take = () => session.post("Profiler.takePreciseCoverage", (_, counted) => void taken.push(counted))
  try {
    session.post("Profiler.enable")
    session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false })
    take()
    work()
    take()
  } finally {
    session.post("Profiler.stopPreciseCoverage")
    session.disconnect()
  }
  const [, during] = taken
  if (during === undefined) throw new Error("the inspector counted nothing")
  return during.result
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
    .reduce((sum, { count }) => sum + count, 0)
}
