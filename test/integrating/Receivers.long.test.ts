import { spawn } from "node:child_process"
import { createHmac } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { freePort } from "../support/FreePort.ts"
import { itWith } from "../support/Installed.ts"
import { newSecret } from "../support/WebhookReceiver.ts"
import { fileOf } from "./PageExamples.ts"

const BODY = '{"type":"webhook.test","data":{}}'

/** Requests to a receiver, of which only the first is a delivery. */
const requests = (secret: string): ReadonlyArray<string> => {
  const sent = `${Math.floor(Date.now() / 1000)}`
  const mac = createHmac("sha256", Buffer.from(secret.slice(6), "base64"))
    .update(`E1.${sent}.${BODY}`)
    .digest("base64")
  const post = (headers: Readonly<Record<string, string>>, body = BODY) =>
    [
      "POST /hooks HTTP/1.1\r\nHost: here\r\nConnection: close",
      ...Object.entries({ "Content-Length": `${body.length}`, ...headers }).map((header) => header.join(": ")),
      "",
      body
    ].join("\r\n")
  const genuine = { "webhook-id": "E1", "webhook-timestamp": sent, "webhook-signature": `v1,${mac}` }
  const empty = { "webhook-id": "E1", "webhook-timestamp": sent }
  return [
    post(genuine),
    post(genuine, BODY.replace("test", "tesT")),
    post({}),
    post(empty),
    post({ ...empty, "webhook-signature": "" }),
    post({ ...empty, "webhook-signature": "v1,\u00e9\u00b2" }),
    ...["", "now", "\u00b2", "-1", "1e9", `${sent}.0`, sent.repeat(3)].map((odd) =>
      post({ ...genuine, "webhook-timestamp": odd })
    ),
    "POST /hooks HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
  ]
}

const statusOf = (port: number, request: string) =>
  new Promise<string>((done) => {
    let said = ""
    const socket = connect(port, "127.0.0.1", () => socket.write(request, "latin1"))
    socket
      .on("data", (part) => (said += part))
      .on("error", () => {})
      .on("close", () => done(said.split(" ")[1] ?? ""))
  })

/** Connected once somebody listens, and says nothing from then on. */
const silentSender = async (port: number): Promise<Socket> => {
  for (;;) {
    const socket = connect(port, "127.0.0.1")
    const isThere = await new Promise<boolean>((found) => socket.on("connect", () => found(true)).on("error", () => found(false)))
    if (isThere) return socket
    await setTimeout(20)
  }
}

type Program = readonly [ending: string, program: string, ...args: ReadonlyArray<string>]

const receives = async ([ending, program, ...args]: Program, secret: string, said: string) => {
  const [folder, port] = [await mkdtemp(join(tmpdir(), "receiving-")), await Effect.runPromise(freePort)]
  const place = (text: string) => text.replaceAll(/\b9000\b/g, `${port}`)
  await writeFile(join(folder, "webhook-secret.txt"), secret)
  await writeFile(join(folder, `webhook.${ending}`), fileOf("webhooks", `webhook.${ending}`))
  await writeFile(join(folder, `receiver.${ending}`), place(fileOf("start", `receiver.${ending}`)))
  const receiver = spawn(program, args.map(place), { cwd: folder, stdio: "ignore" })
  try {
    const silent = await silentSender(port)
    const [delivery, ...others] = requests(secret)
    expect(await statusOf(port, delivery ?? "")).toBe(said)
    expect(await Promise.all(others.map((request) => statusOf(port, request)))).toEqual(others.map(() => "400"))
    silent.destroy()
  } finally {
    receiver.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

const python: Program = ["py", "python3", "receiver.py"]
const php: Program = ["php", "php", "-q", "-S", "127.0.0.1:9000", "receiver.php"]
const typescript: Program = ["ts", process.execPath, "receiver.ts"]

describe.concurrent("a receiver of docs/integrating answers 400 to what is not a delivery, while another sender is silent", () => {
  itWith("python3", "--version")("in Python", () => receives(python, newSecret(), "204"))
  itWith("php", "--version")("in PHP", () => receives(php, newSecret(), "204"))
  itWith("node", "--version")("in TypeScript", () => receives(typescript, newSecret(), "204"))
})

describe.concurrent("a receiver of docs/integrating whose secret is missing believes nothing, though anybody can sign with no secret", () => {
  itWith("python3", "--version")("in Python", () => receives(python, "", "400"))
  itWith("php", "--version")("in PHP", () => receives(php, "", "400"))
  itWith("node", "--version")("in TypeScript", () => receives(typescript, "", "400"))
})
