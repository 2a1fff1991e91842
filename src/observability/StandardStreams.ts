import { Socket } from "node:net"
import type { Writable } from "node:stream"

// An error of a stream of Node's that nobody listens to ends the process, and after one a stream takes nothing any more. So a file on a full disk
// would end a gateway, or its log, although there is room again later.

let [lost, isLosing] = [0, false]

/** From then on what cannot be written to it is lost and counted, and the process goes on. */
const surviveFullDisk = (stream: Writable): void => {
  // Pipes and terminals are told of otherwise: who reads them has gone for good.
  if (stream instanceof Socket) return
  const write = stream._write.bind(stream)
  stream._write = (chunk, encoding, taken) =>
    write(chunk, encoding, (error) => {
      isLosing = error instanceof Error
      if (isLosing) lost++
      taken()
    })
}

/** How many writes were lost since it was last asked for; 0 while they are still being lost. */
const takeLost = (): number => {
  if (isLosing || lost === 0) return 0
  const taken = lost
  lost = 0
  return taken
}

/** Standard error, and the standard output of a process that serves. */
export const StandardStreams = { surviveFullDisk, takeLost }
