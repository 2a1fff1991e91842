import { Effect } from "effect"
import { type Key, send } from "../chaos/Client.ts"
import { each } from "../chaos/Settling.ts"
import type { Stage } from "../chaos/Stage.ts"
import type { Evidence, Execution } from "../chaos/Verdict.ts"
import { gateway } from "../commands/Gateway.ts"
import { changeBy, type Difference } from "./Forgotten.ts"
import type { Any } from "./Payments.ts"

// What operators do after a restore: they look at the provider's account, freeze the tenants, and book what was forgotten.

/** What the provider moved. */
export const executions = async ({ simulatorUrl }: Stage): Promise<ReadonlyArray<Execution>> =>
  JSON.parse(await (await fetch(`${simulatorUrl}/__simulator/executions`)).text())

const BEGAN_ON = new Date()

/** Of every day that it worked on. */
export const reconciled = async (stage: Stage): Promise<ReadonlyArray<Difference>> => {
  const days = new Set([BEGAN_ON, new Date()].map((day) => day.toISOString().slice(0, 10)))
  const reports = []
  for (const day of days) reports.push(await stage.command("reconcile", "eversend", "--day", day))
  return reports.flatMap(({ errors, json }) => {
    if (json === null) throw new Error(`gateway reconcile: ${errors}`)
    return JSON.parse(JSON.stringify(json)).differences
  })
}

export const freeze = (stage: Stage, { app_id }: Key) =>
  must(stage, "tenant", "freeze", app_id, "--reason", "restored from a backup")

interface Booking {
  readonly stage: Stage
  readonly any: Any
  readonly tenants: ReadonlyArray<Key>
  /** What only the provider knows, of those whose tenant has its reference. */
  readonly movements: ReadonlyArray<readonly [tenant: Key, Execution]>
  /** As it was before. */
  readonly floats: Evidence["floats"]
}

/** Books each to its tenant's float and lets the tenants pay again; what is then wrong with a float. */
export const bookAll = async ({ any, floats, movements, stage, tenants }: Booking): Promise<ReadonlyArray<string>> => {
  await each(movements, async ([{ app_id }, movement]) => {
    const change = changeBy(movement)
    const money = ["--currency", "UGX", "--amount-minor", String(Math.abs(change))]
    const why = ["--external-id", `restore-${movement.client_reference}`, "--note", "forgotten by the restored database"]
    await must(stage, "float", change < 0 ? "debit" : "credit", app_id, "--mode", "live", ...money, ...why)
  })
  const wrong: Array<string> = []
  for (const tenant of tenants) {
    await must(stage, "tenant", "unfreeze", tenant.app_id, "--reason", "booked what was forgotten")
    const answer = await send(any(), tenant, { method: "GET", target: "/v1/float" })
    const [position]: ReadonlyArray<Readonly<Record<string, number>>> = JSON.parse(JSON.stringify(answer?.body.data ?? []))
    const own = movements.filter(([{ app_id }]) => app_id === tenant.app_id)
    const wanted = own.reduce((sum, [, one]) => sum + changeBy(one), floats.get(tenant.app_id)?.["available_minor"] ?? 0)
    if (position?.["available_minor"] !== wanted)
      wrong.push(`${tenant.app_id} has ${position?.["available_minor"]} after the booking, not ${wanted}`)
  }
  return wrong
}

const must = async (stage: Stage, ...args: ReadonlyArray<string>) => {
  const { code, errors } = await Effect.runPromise(gateway(stage.variables, ...args, "--json"))
  if (code !== 0) throw new Error(`gateway ${args.join(" ")}: ${errors}`)
}
