import type { Variables } from "./Stage.ts"

/** The accounts that the simulator opens when nobody set any. */
export const simulatedAccounts = async (control: string): Promise<Variables> => {
  const ready = await fetch(`${control}/__simulator/ready`)
  const { providers }: { providers: Record<string, { base_url: string }> } = JSON.parse(await ready.text())
  const modes = ["live", "test"].flatMap((mode) => {
    const prefix = `EVERSEND_${mode.toUpperCase()}`
    return [
      [`${prefix}_CLIENT_ID`, `simulated-${mode}`],
      [`${prefix}_CLIENT_SECRET`, `simulated-${mode}-secret`],
      [`${prefix}_WEBHOOK_SECRET`, `simulated-${mode}-webhook-secret`]
    ]
  })
  return { EVERSEND_BASE_URL: providers["eversend"]?.base_url ?? "", ...Object.fromEntries(modes) }
}
