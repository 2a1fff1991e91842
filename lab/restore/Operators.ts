import { Effect } from "effect"
import { gateway } from "../../test/commands/Gateway.ts"
import { type Key, send } from "../chaos/Client.ts"
import { providers } from "../chaos/everything/Accounts.ts"
import { each } from "../chaos/Settling.ts"
import type { Stage } from "../chaos/Stage.ts"
import { changeBy, type Difference, type Listed } from "./Forgotten.ts"
import type { Any } from "./Payments.ts"

// What operators do after a restore: they look at the provider's account, freeze the tenants, and book what was forgotten.

const BEGAN_ON = new Date()

/** Of every day that it worked on. */
export const reconciled = async (stage: Stage): Promise<ReadonlyArray<Difference>> => {
  const days = new Set([BEGAN_ON, new Date()].map((day) => day.toISOString().slice(0, 10)))
  const reports = []
  for (const day of days) for (const provider of providers) reports.push(await stage.command("reconcile", provider, "--day", day))
  return reports.flatMap(({ errors, json }) => {
    if (json === null) throw new Error(`gateway reconcile: ${errors}`)
    return JSON.parse(JSON.stringify(json)).differences
  })
}

export const freeze = (stage: Stage, { app_id }: Key) =>
  must(stage, "tenant", "freeze", app_id, "--reason", "restored from a backup")

interface Booking {
  readonly stage: Stage
  readonly listed: ReadonlyArray<Listed>
  /** As the provider says whom it paid. */
  readonly ownerOf: (listed: Listed) => Key
}

/** Books to its tenant's float what `reconcile` lists; what is credited first, so that it covers what is debited. */
export const bookAll = async ({ listed, ownerOf, stage }: Booking): Promise<void> => {
  const book = async (one: Listed) => {
    const change = changeBy(one)
    const money = ["--currency", "GHS", "--amount-minor", String(Math.abs(change))]
    const why = ["--external-id", one.reference, "--note", "forgotten by the restored database"]
    await must(stage, "float", change < 0 ? "debit" : "credit", ownerOf(one).app_id, "--mode", "live", ...money, ...why)
  }
  const isCredit = (one: Listed) => changeBy(one) > 0
  await each(listed.filter(isCredit), book)
  await each(
    listed.filter((one) => !isCredit(one)),
    book
  )
}

export const unfreeze = (stage: Stage, { app_id }: Key) =>
  must(stage, "tenant", "unfreeze", app_id, "--reason", "what was forgotten is booked")

/** Tenants whose available float is not that. */
export const wrongFloats = async (
  any: Any,
  tenants: ReadonlyArray<Key>,
  wanted: (tenant: Key) => number
): Promise<ReadonlyArray<string>> => {
  const wrong: Array<string> = []
  for (const tenant of tenants) {
    const answer = await send(any(), tenant, { method: "GET", target: "/v1/float" })
    const [position]: ReadonlyArray<Readonly<Record<string, number>>> = JSON.parse(JSON.stringify(answer?.body.data ?? []))
    const has = position?.["available_minor"]
    if (has !== wanted(tenant)) wrong.push(`${tenant.app_id} has ${has} after the booking, not ${wanted(tenant)}`)
  }
  return wrong
}

const must = async (stage: Stage, ...args: ReadonlyArray<string>) => {
  const { code, errors } = await Effect.runPromise(gateway(stage.variables, ...args, "--json"))
  if (code !== 0) throw new Error(`gateway ${args.join(" ")}: ${errors}`)
}
