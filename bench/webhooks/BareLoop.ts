import { createHmac, randomBytes } from "node:crypto"
import { Pool } from "@effect/platform-node/Undici"

// A process of its own: events that lie in memory, signed and posted by loops. Nothing is remembered.

const LOOPS = 128
const pool = new Pool(process.env["RECEIVER_ORIGIN"] ?? "", { connections: LOOPS, pipelining: 1 })
const secret = randomBytes(32)
const body = process.env["EVENT"] ?? "{}"

const post = async (id: string): Promise<void> => {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64")
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`
  }
  const answer = await pool.request({ path: "/hook", method: "POST", headers, body })
  await answer.body.dump()
  if (answer.statusCode !== 200) throw new Error(`the receiver answered ${answer.statusCode}`)
}

process.on("message", (count: number) => {
  let sent = 0
  const loop = async (): Promise<void> => {
    while (sent < count) await post(`event-${sent++}`)
  }
  void Promise.all(Array.from({ length: LOOPS }, loop))
})
process.on("disconnect", () => process.exit())
process.send?.({ ready: true })
