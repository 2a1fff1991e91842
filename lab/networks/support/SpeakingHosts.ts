import { spawn } from "node:child_process"
import { connect } from "node:net"
import { setTimeout as pause } from "node:timers/promises"
import { apart, between } from "../Faults.ts"
import { type Host, openNetwork } from "../Hosts.ts"

// In a network of its own: two hosts that answer with as many bytes as they were sent, and what the first host hears of them under each fault.

const PORT = 7_007
const SILENT_AFTER_MS = 1_500
const BYTES = 60_000

const network = await openNetwork("first", ["second", "third"])
const echo = `require("node:net").createServer((one) => one.on("error", () => 0).pipe(one)).listen(+process.argv[1], "127.0.0.1")`
const [first, second, third] = [network.host("first"), network.host("second"), network.host("third")]

const open = async (host: Host, port: number) => {
  await host.serve(port)
  const [program, args] = host.command(process.execPath, ["-e", echo, String(port)])
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "inherit"] })
  while ((await heard(port)) !== "heard") await pause(50)
  return () => void child.kill("SIGKILL")
}

/** What comes back of so many bytes, and after how many milliseconds. */
const echoed = (port: number, bytes: number, withinMs: number) =>
  new Promise<{ readonly said: string; readonly milliseconds: number }>((done) => {
    const [began, socket] = [performance.now(), connect(port, "127.0.0.1")]
    let left = bytes
    const end = (said: string) => {
      socket.destroy()
      done({ said, milliseconds: performance.now() - began })
    }
    const timer = setTimeout(() => end("silence"), withinMs)
    socket.once("connect", () => socket.write(Buffer.alloc(bytes)))
    socket.on("data", (chunk) => {
      left -= chunk.length
      if (left > 0) return
      clearTimeout(timer)
      end("heard")
    })
    socket.once("error", () => {
      clearTimeout(timer)
      end("refused")
    })
  })

const heard = async (port: number): Promise<string> => (await echoed(port, 1, SILENT_AFTER_MS)).said

const ends = [await open(second, PORT), await open(third, PORT + 1)]
try {
  const said: Record<string, string> = { whole: await heard(PORT) }
  const under = async (name: string, fault: ReturnType<typeof between.cut>) => {
    const mend = await fault
    said[name] = await heard(PORT)
    return mend
  }
  await (await under("cut", between.cut(first, second)))()
  said["mended"] = await heard(PORT)
  await (await under("one-way", between["one-way"](first, second)))()
  await (await under("the other way", between["one-way"](second, first)))()
  await (await under("reset", between.reset(first, second)))()
  const mendAlone = await under("alone", apart([second], [first, third]))
  said["a neighbour meanwhile"] = await heard(PORT + 1)
  await mendAlone()
  const mendSlow = await between.slow(second)
  const { milliseconds, said: slowly } = await echoed(PORT, BYTES, 20_000)
  await mendSlow()
  const rate = BYTES / milliseconds
  said["as slow as"] = slowly === "heard" && rate > 10 && rate < 40 ? "10 to 40 kB a second" : `${slowly}: ${rate} kB a second`
  said["at the end"] = await heard(PORT)
  console.log(JSON.stringify(said))
} finally {
  for (const end of ends) end()
  await network.close()
}
