import { type ChildProcess, spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Readable, Writable } from "node:stream"
import { isTree, type Tree, treeOf } from "../../src/http/description/OpenApiSchemas.ts"

/** Debian's. */
export const CHROMIUM = "/usr/bin/chromium"

const QUIET = ["background-networking", "component-update", "sync", "quic", "gpu"].map((what) => `--disable-${what}`)
const PATIENCE_MS = 30_000

export interface Screen {
  readonly width: number
  readonly height: number
  readonly scheme: "light" | "dark"
}

/** One page of a browser. Expressions are JavaScript that the page runs; a promise is waited for. */
export interface BrowserPage {
  readonly open: (url: string) => Promise<void>
  /** Runs what leads to another page, and waits for that one. */
  readonly follow: (expression: string) => Promise<void>
  readonly show: (screen: Screen) => Promise<void>
  readonly run: (expression: string) => Promise<unknown>
  /** Waits until the expression is true. */
  readonly until: (expression: string) => Promise<void>
  readonly type: (text: string) => Promise<void>
  readonly picture: () => Promise<Buffer>
  /** The address of everything that the page asked for. */
  readonly requested: ReadonlyArray<string>
  /** What its scripts threw and did not catch. */
  readonly thrown: ReadonlyArray<string>
}

/** Starts a browser with one page, which may use the clipboard. */
export const openBrowser = async (): Promise<{ readonly page: BrowserPage; readonly close: () => Promise<void> }> => {
  const profile = await mkdtemp(join(tmpdir(), "payment-gateway-browser-"))
  const options = [
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    ...QUIET,
    "--remote-debugging-pipe",
    `--user-data-dir=${profile}`
  ]
  const browser = spawn(CHROMIUM, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] })
  const ended = new Promise((resolve) => browser.once("exit", resolve))
  return {
    page: await pageOf(connect(browser)),
    close: async () => {
      browser.kill()
      await ended
      await rm(profile, { recursive: true, force: true, maxRetries: 5 })
    }
  }
}

interface Connection {
  readonly send: (method: string, params?: Tree, sessionId?: string) => Promise<Tree>
  readonly listen: (listener: (method: string, params: Tree) => void) => void
}

/** The DevTools protocol over two pipes: JSON messages, each with a zero byte after it. */
const connect = ({ stdio }: ChildProcess): Connection => {
  const [, , , output, input] = stdio as unknown as [null, null, null, Writable, Readable]
  const waiting = new Map<number, { resolve: (result: Tree) => void; reject: (error: Error) => void }>()
  let listener: (method: string, params: Tree) => void = () => {}
  let [last, rest] = [0, ""]
  input.setEncoding("utf8").on("data", (chunk: string) => {
    const messages = `${rest}${chunk}`.split("\0")
    rest = messages.pop() ?? ""
    for (const text of messages) {
      const message: Tree = JSON.parse(text)
      const call = waiting.get(Number(message["id"]))
      if (call === undefined) listener(String(message["method"]), treeOf(message["params"]))
      else if (isTree(message["error"])) call.reject(new Error(String(message["error"]["message"])))
      else call.resolve(treeOf(message["result"]))
    }
  })
  return {
    send: (method, params = {}, sessionId) =>
      new Promise((resolve, reject) => {
        waiting.set(++last, { resolve, reject })
        output.write(`${JSON.stringify({ id: last, method, params, ...(sessionId === undefined ? {} : { sessionId }) })}\0`)
      }),
    listen: (next) => {
      listener = next
    }
  }
}

const pageOf = async ({ listen, send }: Connection): Promise<BrowserPage> => {
  const requested: Array<string> = []
  const thrown: Array<string> = []
  let onLoad = () => {}
  listen((method, params) => {
    if (method === "Network.requestWillBeSent") requested.push(String(treeOf(params["request"])["url"]))
    if (method === "Page.loadEventFired") onLoad()
    if (method === "Runtime.exceptionThrown") thrown.push(JSON.stringify(params["exceptionDetails"]))
  })
  const { targetId } = await send("Target.createTarget", { url: "about:blank" })
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true })
  const call = (method: string, params: Tree = {}) => send(method, params, String(sessionId))
  await send("Browser.grantPermissions", { permissions: ["clipboardReadWrite", "clipboardSanitizedWrite"] })
  for (const domain of ["Page", "Network", "Runtime"]) await call(`${domain}.enable`)
  await call("Emulation.setFocusEmulationEnabled", { enabled: true })
  const run = async (expression: string) => {
    const given = { expression, awaitPromise: true, returnByValue: true, userGesture: true }
    const { exceptionDetails, result } = await call("Runtime.evaluate", given)
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`)
    return treeOf(result)["value"]
  }
  const until = async (expression: string) => {
    const tries = `new Promise((resolve) => {
      const [began, test] = [Date.now(), () => ${expression}]
      const holds = () => { try { return test() } catch { return false } }
      const look = () => holds() ? resolve(true) : Date.now() - began > ${PATIENCE_MS} ? resolve(false) : setTimeout(look, 25)
      look()
    })`
    if ((await run(tries)) !== true) throw new Error(`never: ${expression}`)
  }
  const untilLoaded = async (act: () => Promise<unknown>) => {
    const loaded = new Promise<void>((resolve) => {
      onLoad = resolve
    })
    await act()
    await loaded
  }
  return {
    run,
    until,
    requested,
    thrown,
    open: (url) => untilLoaded(() => call("Page.navigate", { url })),
    follow: (expression) => untilLoaded(() => run(expression)),
    show: async ({ height, scheme, width }) => {
      await call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 })
      await call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] })
    },
    type: async (text) => {
      await call("Input.insertText", { text })
    },
    picture: async () => Buffer.from(String((await call("Page.captureScreenshot"))["data"]), "base64")
  }
}
