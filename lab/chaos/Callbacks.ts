import type { Stage } from "./Stage.ts"

/** Where the simulator sends its callbacks: to the first gateway. In reality a field of the provider's dashboard. */
export const tellCallbacks = async (stage: Stage) => {
  const [gateway] = stage.gateways
  for (const { callback_path, mode, provider } of await callbackPaths(stage)) {
    const body = JSON.stringify({ provider, client_id: `simulated-${mode}`, url: `${gateway.url}${callback_path}` })
    const { ok } = await fetch(`${stage.simulatorUrl}/__simulator/callbacks`, { method: "POST", body })
    if (!ok) throw new Error("the simulator does not take the address of callbacks")
  }
}

/** Of the accounts that are set. */
export const callbackPaths = async (stage: Stage) => {
  const { json } = await stage.command("provider", "list")
  const rows: ReadonlyArray<{ provider: string; mode: string; registered: boolean; callback_path: string }> = JSON.parse(
    JSON.stringify(json)
  )
  return rows.filter(({ registered }) => registered)
}
