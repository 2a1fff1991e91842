import { createServer } from "node:http"
import type { Fault } from "./Fault.ts"
import { payoutOf } from "./Requests.ts"
import { eventually, type Scene } from "./Scene.ts"

const nothing = async () => undefined

/** What tenants, strangers and a node of our own do wrong. */
export const tenantFaults = (scene: Scene): ReadonlyArray<Fault> => [
  signaturesRefused(scene),
  internalErrors(scene),
  heldUp(scene)
]

const UNSIGNED = 150
const AT_ONCE = 10

const signaturesRefused = ({ stage }: Scene): Fault => ({
  about: "requests without a signature, until no more come",
  alerts: ["SignaturesRefused"],
  how: "real",
  begin: async () => {
    for (let sent = 0; sent < UNSIGNED; sent += AT_ONCE)
      await Promise.all(
        Array.from({ length: AT_ONCE }, () => fetch(`${stage.gateways[0].url}/v1/float`).then((one) => one.text()))
      )
  },
  mend: nothing
})

const internalErrors = ({ sql, tenant }: Scene): Fault => ({
  about: "a table has another name than the program knows, until it is named back",
  alerts: ["InternalErrors"],
  how: "real",
  begin: async () => {
    const reader = await tenant("reader")
    await sql("ALTER TABLE beneficiaries RENAME TO renamed")
    await reader.get("/v1/beneficiaries")
  },
  mend: async () => void (await sql("ALTER TABLE renamed RENAME TO beneficiaries"))
})

/** Longer than the alert's second, and shorter than two scrapes, which would be a gateway that is down. */
const HELD_UP_MS = 1_400

const heldUp = ({ stage }: Scene): Fault => ({
  about: "a node is stopped for 1.4 s by the system, until that is forgotten",
  alerts: ["EventLoopHeldUp"],
  how: "real",
  begin: async () => {
    const [, node] = stage.actors
    node.signal("SIGSTOP")
    await new Promise((over) => setTimeout(over, HELD_UP_MS))
    node.signal("SIGCONT")
  },
  mend: nothing
})

/** A tenant's endpoint, which answers with `status` now. */
const openEndpoint = async () => {
  const endpoint = { status: 204 }
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(endpoint.status).end())
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  // The drill's end does not wait for it.
  server.unref()
  const address = server.address()
  return Object.assign(endpoint, { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/` })
}

/** Played beside others, because the deliveries have to wait for five minutes. */
export const webhooksLate = ({ hold, must, tenant }: Scene): Fault => {
  let release: () => Promise<void> = nothing
  return {
    about: "deliveries that no node can claim, because a session holds the lock, until it lets go",
    alerts: ["WebhooksLate"],
    how: "real",
    withinSeconds: 420,
    begin: async () => {
      const payer = await tenant("unserved", 100_000)
      const { url } = await openEndpoint()
      await must("webhook", "endpoint", "unserved", "--mode", "live", "--url", url)
      release = await hold("SELECT pg_advisory_lock(7002)")
      await payer.post("/v1/payouts", payoutOf("1000"))
    },
    mend: () => release()
  }
}

/** After `webhooksLate`, which keeps deliveries from being made. */
export const webhooksParked = ({ command, must, tenant }: Scene): Fault => {
  let endpoint = { status: 500, url: "" }
  return {
    about: "a tenant that does not accept its webhooks, until it does and they are sent again",
    alerts: ["WebhooksParked", "WebhookEndpointFailing"],
    how: "real",
    begin: async () => {
      const payer = await tenant("unwilling", 100_000)
      endpoint = await openEndpoint()
      endpoint.status = 500
      await must("webhook", "endpoint", "unwilling", "--mode", "live", "--url", endpoint.url)
      await payer.post("/v1/payouts", payoutOf("1000"))
      await eventually(
        () => command("webhook", "deliveries", "unwilling", "--mode", "live", "--status", "parked"),
        ({ json }) => Array.isArray(json) && json.length > 0
      )
    },
    mend: async () => {
      endpoint.status = 204
      const parked: unknown = await must("webhook", "deliveries", "unwilling", "--mode", "live", "--status", "parked")
      const rows: ReadonlyArray<{ readonly id: string }> = JSON.parse(JSON.stringify(parked))
      for (const { id } of rows) await must("webhook", "redeliver", id)
    }
  }
}
